# SPDX-License-Identifier: Apache-2.0
"""The controller of a Provider on kopf: a garden is ready as soon as it was seen."""
import datetime
import sys

import kopf

GROUP = "gardens.example.org"


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_):
    settings.posting.enabled = False
    settings.scanning.disabled = True


@kopf.on.create(GROUP, "v1", "gardens")
@kopf.on.resume(GROUP, "v1", "gardens")
@kopf.on.update(GROUP, "v1", "gardens")
def grow(spec, patch, **_):
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    ready = {"type": "Ready", "status": "True", "reason": "Grown", "lastTransitionTime": now}
    patch.status["trees"] = spec.get("trees", 0)
    patch.status["conditions"] = [ready]


if __name__ == "__main__":
    print("python", sys.version, flush=True)
    # Without it, kopf asks for the name of its user, and user 2000 of a Pod has none.
    kopf.run(standalone=True, clusterwide=True, identity="garden")
