"""Files as a checkout of sbibm has them."""

import bz2


def write(path, header, rows):
    text = "\n".join([header, *(",".join(repr(float(v)) for v in row) for row in rows)]) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bz2.compress(text.encode()) if path.suffix == ".bz2" else text.encode())


def write_observation(root, task, number, *, x, theta, samples):
    """Write what a checkout at `root` has of one observation."""
    folder = root / "sbibm" / "tasks" / task / "files" / f"num_observation_{number}"
    write(folder / "observation.csv", "data_1,data_2", [x])
    write(folder / "true_parameters.csv", "parameter_1", [theta])
    write(folder / "reference_posterior_samples.csv.bz2", "parameter_1", samples)
