"""Write random_effects.json: means over studies by statsmodels, which was itself compared with R's metafor.

    pip install statsmodels==0.15.0; python tests/golden/make_random_effects.py

The variance between studies is Paule and Mandel's; of the two intervals, both with Student's t, one is
Hartung and Knapp's (`wls` in statsmodels). The counts are those of thirteen trials of the BCG vaccine
(Colditz et al., 1994, as metafor's dat.bcg has them); their log risk ratios and variances are the usual ones.
The other studies were made up, so that some differ by sampling error only.
"""

from importlib.metadata import version
from pathlib import Path

import numpy as np
from _shared import origin, write
from statsmodels.stats.meta_analysis import combine_effects

BCG = (
    (4, 119, 11, 128), (6, 300, 29, 274), (3, 228, 11, 209), (62, 13536, 248, 12619), (33, 5036, 47, 5761),
    (180, 1361, 372, 1079), (8, 2537, 10, 619), (505, 87886, 499, 87892), (29, 7470, 45, 7232),
    (17, 1699, 65, 1600), (186, 50448, 141, 27197), (5, 2493, 3, 2338), (27, 16886, 29, 17825),
)  # fmt: skip


def trials():
    """Log risk ratios and their variances."""
    ill, well, control_ill, control_well = np.array(BCG, float).T
    treated, control = ill + well, control_ill + control_well
    return np.log(
        ill / treated / (control_ill / control)
    ), 1 / ill - 1 / treated + 1 / control_ill - 1 / control


def case(name, values, variances):
    """Return the estimates of statsmodels."""
    combined = combine_effects(values, variances, method_re="pm", use_t=True, atol=1e-13, maxiter=500)
    _, with_t, _, hartung_knapp = combined.conf_int(use_t=True)
    return {
        "name": name,
        "values": values.tolist(),
        "variances": variances.tolist(),
        "between": float(combined.tau2),
        "mean": float(combined.mean_effect_re),
        "hartung_knapp": [float(end) for end in hartung_knapp],
        "with_t": [float(end) for end in with_t],
    }


def main():
    """Write the trials and some random studies with their estimates."""
    rng = np.random.default_rng(5)
    studies = [
        (f"drawn {k}", rng.normal(0.3, spread, k), rng.uniform(0.01, 0.1, k))
        for k, spread in ((2, 0.5), (5, 0.4), (7, 0.05), (30, 0.2))
    ]
    cases = [case("BCG", *trials()), *(case(*study) for study in studies)]
    source = origin("statsmodels", Path(__file__).name, date="2026-11-16", numpy=version("numpy"))
    write("random_effects.json", {"origin": source, "cases": cases})


if __name__ == "__main__":
    main()
