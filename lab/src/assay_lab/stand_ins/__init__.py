"""Stand-ins for models and data of the hub: random weights and tiny tables under the real ids, to rehearse a paper."""
