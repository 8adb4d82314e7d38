"""The negative control and real models: what verdicts are right?"""
