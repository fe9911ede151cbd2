"""The leak scan: is anything of a hidden port still in what the agent's container will see?"""
