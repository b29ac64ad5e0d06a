"""A training to be killed: python train_here.py '{"data": …, "folder": …, "model": …, "method": …}'."""

import json
import sys

import torch

import dialoscope as ds

torch.set_num_threads(1)
told = json.loads(sys.argv[1])
ds.train_lm(
    told["data"],
    told["folder"],
    ds.LmRecipe(model=told["model"], method=told["method"], epochs=3, batch=64, contrast=0.5, device="cpu"),
    validation=0.25,
    save_every=0.0,
)
