"""A training to be killed: python train_ruber_here.py '{"data": …, "folder": …, "recipe": {…}}'."""

import json
import sys

import dialoscope as ds

told = json.loads(sys.argv[1])
ds.train_ruber(
    told["data"], told["folder"], ds.RuberRecipe(**told["recipe"]), validation=0.25, save_every=0.0
)
