// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { hasCapability, isPackageError, isPackageMeta, readPackageMeta } from "./package-meta.ts";

const meta = (spec: JsonObject = {}, kind = "Configuration"): JsonObject => ({
  apiVersion: "meta.pkg.crossplane.io/v1",
  kind,
  metadata: { name: "p" },
  spec,
});

const kinds: [apiVersion: string, kind: string, expected: boolean][] = [
  ["meta.pkg.crossplane.io/v1", "Function", true],
  ["meta.pkg.crossplane.io/v1beta1", "Function", true],
  ["meta.pkg.crossplane.io/v1alpha1", "Function", false],
  ["meta.pkg.crossplane.io/v1alpha1", "Provider", true],
  ["meta.pkg.crossplane.io/v1alpha1", "Configuration", true],
  ["meta.pkg.crossplane.io/v1beta1", "Configuration", false],
  ["meta.pkg.crossplane.io/v2", "Function", false],
  ["pkg.crossplane.io/v1", "Function", false],
  ["meta.pkg.crossplane.io/v1", "Bundle", false],
  ["meta.pkg.crossplane.io/v1", "toString", false],
  ["v1", "Function", false],
];
for (const [apiVersion, kind, expected] of kinds) {
  test(`${kind} of ${apiVersion} is ${expected ? "" : "not "}the metadata of a package`, () => {
    assert.equal(isPackageMeta({ apiVersion, kind }), expected);
  });
}

const digest = `sha256:${"0".repeat(64)}`;
const dependencies: { why: string; item: JsonObject; expected: string }[] = [
  {
    why: "as it is written now",
    item: { apiVersion: "pkg.crossplane.io/v1", kind: "Function", package: "r.io/f", version: ">=v1" },
    expected: "Function r.io/f >=v1",
  },
  { why: "an older name", item: { provider: "r.io/p", version: "*" }, expected: "Provider r.io/p *" },
  {
    why: "all three win over an older name",
    item: { apiVersion: "pkg.crossplane.io/v1", kind: "Function", package: "r.io/f", provider: "r.io/p", version: "*" },
    expected: "Function r.io/f *",
  },
  {
    why: "two of three do not",
    item: { kind: "Function", package: "r.io/f", configuration: "r.io/c", version: "*" },
    expected: "Configuration r.io/c *",
  },
  { why: "by digest", item: { function: "r.io/f", version: digest }, expected: `Function r.io/f ${digest}` },
];
for (const { why, item, expected } of dependencies) {
  test(`a dependency: ${why}`, () => {
    const [read] = readPackageMeta(meta({ dependsOn: [item] }), "p").dependencies;
    assert.equal(read && `${read.kind} ${read.source} ${read.constraint}`, expected);
  });
}

const refused: { why: string; object: JsonObject; says: RegExp }[] = [
  {
    why: "no name",
    object: { ...meta(), metadata: {} },
    says: /^p: metadata\.name: expected the name of the package$/,
  },
  { why: "an empty name", object: { ...meta(), metadata: { name: "" } }, says: /metadata\.name/ },
  {
    why: "dependencies that are not a list",
    object: meta({ dependsOn: {} }),
    says: /^p: spec\.dependsOn: expected a list$/,
  },
  {
    why: "a dependency that is a string",
    object: meta({ dependsOn: ["r.io/f"] }),
    says: /^p: spec\.dependsOn\[0\]\.version: expected a version constraint$/,
  },
  {
    why: "a dependency on an invalid version",
    object: meta({ dependsOn: [{ function: "r.io/f", version: "newest" }] }),
    says: /^p: spec\.dependsOn\[0\]\.version: "newest" is not a version constraint; use for example/,
  },
  {
    why: "an empty constraint",
    object: meta({ dependsOn: [{ function: "r.io/f", version: "" }] }),
    says: /"" is not a version constraint/,
  },
  {
    why: "half a digest",
    object: meta({ dependsOn: [{ function: "r.io/f", version: "sha256:12" }] }),
    says: /is not a version constraint/,
  },
  {
    why: "the second of two",
    object: meta({ dependsOn: [{ function: "r.io/f", version: "*" }, { version: "*" }] }),
    says: /spec\.dependsOn\[1\]: invalid dependency/,
  },
  {
    why: "an unknown kind",
    object: meta({ dependsOn: [{ apiVersion: "v1", kind: "Pod", package: "r.io/f", version: "*" }] }),
    says: /spec\.dependsOn\[0\]\.kind: Pod is not a kind of package/,
  },
  {
    why: "a version of the control plane that is a number",
    object: meta({ crossplane: { version: 2 } }),
    says: /^p: spec\.crossplane\.version: expected a version constraint$/,
  },
];
for (const { why, object, says } of refused) {
  test(`no metadata: ${why}`, () => {
    assert.throws(
      () => readPackageMeta(object, "p"),
      (error: Error) => isPackageError(error) && says.test(error.message),
    );
  });
}

test("absent members and members of another type are left out", () => {
  const {
    labels,
    annotations,
    dependencies: needs,
    crossplaneConstraint,
    capabilities,
  } = readPackageMeta(
    {
      ...meta({ dependsOn: null, capabilities: "composition", crossplane: null }),
      metadata: { name: "p", labels: { a: 7, b: "x" }, annotations: [] },
    },
    "p",
  );
  assert.deepEqual(
    [labels, annotations, needs, crossplaneConstraint, capabilities],
    [{ b: "x" }, {}, [], undefined, []],
  );
});

const capabilities: [list: string[], wanted: string, expected: boolean][] = [
  [["composition"], "composition", true],
  [["Composition"], "composition", true],
  [["SafeStart"], "safe-start", true],
  [["safe_start"], "SafeStart", true],
  [["composition-2"], "composition", false],
  [[], "composition", false],
  [["operation", "composition"], "composition", true],
];
for (const [list, wanted, expected] of capabilities) {
  test(`[${list}] ${expected ? "names" : "does not name"} ${wanted}`, () =>
    assert.equal(hasCapability(list, wanted), expected));
}
