"""On a machine with a GPU: does the port run, and compute what its reference computes? READ FIRST: `session.py`.

Only the standard library, torch, pytest, cuda-tile and cupti-python are imported here: such machines often have no
package registry. What is found is written down; `decide.py` says what follows from it.
"""
