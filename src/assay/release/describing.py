def data_card(secret, number): return "card\n"
