// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import { healthOf, installationOf, unpackingFailed } from "./report-source.ts";

/** `RevisionHealthy=True RuntimeHealthy=False:no` as a revision. */
function revision(text: string, desiredState = "Active"): KubeObject {
  const conditions = text
    .split(" ")
    .filter((one) => one !== "")
    .map((one) => {
      const [, type = "", status = "", message] = /^(\w+)=(\w+)(?::(.*))?$/.exec(one) ?? [];
      return { type, status, reason: "R", lastTransitionTime: "", ...(message && { message }) };
    });
  return {
    apiVersion: "pkg.crossplane.io/v1",
    kind: "FunctionRevision",
    metadata: { name: "r" },
    spec: { desiredState },
    status: { conditions },
  } as KubeObject;
}

const unhealthy = (message: string): string => `False UnhealthyPackageRevision ${message}`;
const rows: { why: string; now: string; hasRuntime?: boolean; health: string }[] = [
  { why: "not reconciled yet", now: "", health: unhealthy('Package revision health is "Unknown"') },
  {
    why: "the revision is asked first",
    now: "RevisionHealthy=False:broken RuntimeHealthy=False:down",
    health: unhealthy('Package revision health is "False" with message: broken'),
  },
  {
    why: "then what runs",
    now: "RevisionHealthy=True RuntimeHealthy=False:down",
    health: unhealthy('Package runtime health is "False" with message: down'),
  },
  {
    why: "Unknown is not healthy there either",
    now: "RevisionHealthy=True",
    health: unhealthy('Package runtime health is "Unknown"'),
  },
  {
    why: "a Configuration runs nothing",
    now: "RevisionHealthy=True",
    hasRuntime: false,
    health: "True HealthyPackageRevision",
  },
  { why: "both are fine", now: "RevisionHealthy=True RuntimeHealthy=True", health: "True HealthyPackageRevision" },
  {
    why: "the package reports the state of what runs",
    now: "RevisionHealthy=True RuntimeHealthy=True:unprotected RuntimeActive=True",
    health: "True HealthyPackageRevision unprotected",
  },
  {
    why: "what runs at zero replicas is healthy, and says so",
    now: "RevisionHealthy=True RuntimeHealthy=True RuntimeActive=False:asleep",
    health: "True AwaitingActivation asleep",
  },
  {
    why: "what is active is healthy",
    now: "RevisionHealthy=True RuntimeHealthy=True RuntimeActive=True",
    health: "True HealthyPackageRevision",
  },
];

for (const { why, now, hasRuntime = true, health } of rows) {
  test(`Healthy: ${why}`, () => {
    const { type, status, reason, message = "" } = healthOf(revision(now), hasRuntime);
    assert.deepEqual([type, `${status} ${reason} ${message}`.trim()], ["Healthy", health]);
  });
}

test("Healthy without a revision", () => {
  assert.equal(healthOf(undefined, true).message, 'Package revision health is "Unknown"');
});

for (const [state, expected] of Object.entries({
  Active: "True ActivePackageRevision",
  Inactive: "False InactivePackageRevision Package is inactive",
  "": "False InactivePackageRevision Package is inactive",
  Sideways: "False InactivePackageRevision Package is inactive",
})) {
  test(`Installed of a revision that is ${JSON.stringify(state)}, whatever its health`, () => {
    const { status, reason, message = "" } = installationOf(revision("RevisionHealthy=False", state));
    assert.equal(`${status} ${reason} ${message}`.trim(), expected);
  });
}

test("a package that cannot be fetched is not installed and unhealthy, with the same message", () => {
  const message = "cannot unpack package: boom";
  assert.deepEqual(unpackingFailed(message), [
    { type: "Installed", status: "False", reason: "UnpackingPackage", message },
    { type: "Healthy", status: "False", reason: "UnhealthyPackageRevision", message },
  ]);
});
