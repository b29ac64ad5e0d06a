"""The parts of training that import torch: models prepared for training, tasks, and the training loop."""
