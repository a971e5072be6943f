// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import { functionCrds, packageCrds } from "./package-crds.ts";

interface Version {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly subresources?: { readonly status?: object };
  readonly additionalPrinterColumns: readonly {
    readonly name: string;
    readonly jsonPath: string;
    readonly priority?: number;
    readonly type: string;
  }[];
  readonly schema: {
    readonly openAPIV3Schema: { readonly properties: Record<string, { readonly properties?: Record<string, object> }> };
  };
}
interface Spec {
  readonly group: string;
  readonly scope: string;
  readonly names: {
    readonly kind: string;
    readonly plural: string;
    readonly singular?: string;
    readonly shortNames?: string[];
    readonly categories?: string[];
  };
  readonly versions: readonly Version[];
  readonly conversion?: object;
}

const crds = new Map(
  packageCrds({ functionRevisionSelectors: true }).map((crd) => [
    (crd["spec"] as unknown as Spec).names.kind,
    crd["spec"] as unknown as Spec,
  ]),
);
const crd = (kind: string): Spec => {
  const found = crds.get(kind);
  assert.ok(found, kind);
  return found;
};

const kinds: Record<
  string,
  { versions: string[]; categories: string[] | undefined; status: boolean; columns: string }
> = {
  Function: {
    versions: ["v1", "v1beta1"],
    categories: ["crossplane", "pkg"],
    status: true,
    columns: "INSTALLED HEALTHY PACKAGE AGE",
  },
  Provider: {
    versions: ["v1"],
    categories: ["crossplane", "pkg"],
    status: true,
    columns: "INSTALLED HEALTHY PACKAGE AGE",
  },
  Configuration: {
    versions: ["v1"],
    categories: ["crossplane", "pkg"],
    status: true,
    columns: "INSTALLED HEALTHY PACKAGE AGE",
  },
  FunctionRevision: {
    versions: ["v1", "v1beta1"],
    categories: ["crossplane", "pkgrev"],
    status: true,
    columns: "HEALTHY RUNTIME-HEALTHY RUNTIME-ACTIVE IMAGE STATE AGE (REVISION) (DEP-FOUND) (DEP-INSTALLED)",
  },
  ProviderRevision: {
    versions: ["v1"],
    categories: ["crossplane", "pkgrev"],
    status: true,
    columns: "HEALTHY RUNTIME-HEALTHY RUNTIME-ACTIVE IMAGE STATE AGE (REVISION) (DEP-FOUND) (DEP-INSTALLED)",
  },
  ConfigurationRevision: {
    versions: ["v1"],
    categories: ["crossplane", "pkgrev"],
    status: true,
    columns: "HEALTHY IMAGE STATE AGE (REVISION) (DEP-FOUND) (DEP-INSTALLED)",
  },
  Lock: { versions: ["v1beta1"], categories: undefined, status: true, columns: "AGE" },
  ImageConfig: { versions: ["v1beta1"], categories: ["crossplane"], status: false, columns: "AGE" },
  DeploymentRuntimeConfig: { versions: ["v1beta1"], categories: ["crossplane"], status: false, columns: "AGE" },
};

for (const [kind, { versions, categories, status, columns }] of Object.entries(kinds)) {
  test(`${kind}: versions, categories, status and columns are those people know`, () => {
    const spec = crd(kind);
    assert.deepEqual([spec.group, spec.scope], ["pkg.crossplane.io", "Cluster"]);
    assert.deepEqual(
      spec.versions.map(({ name }) => name),
      versions,
    );
    assert.deepEqual(
      spec.versions.map(({ storage }) => storage),
      versions.map((_, at) => at === 0),
    );
    assert.ok(spec.versions.every(({ served }) => served));
    assert.deepEqual(
      [spec.names.categories, spec.names.shortNames, spec.conversion],
      [categories, undefined, undefined],
    );
    for (const version of spec.versions) {
      assert.equal(version.subresources?.status !== undefined, status);
      const shown = version.additionalPrinterColumns.map(({ name, priority = 0 }) =>
        priority > 0 ? `(${name})` : name,
      );
      assert.equal(shown.join(" "), columns);
    }
  });
}

test("all kinds are there, and Functions can be had alone", () => {
  assert.deepEqual([...crds.keys()].toSorted(), Object.keys(kinds).toSorted());
  assert.deepEqual(
    functionCrds({ functionRevisionSelectors: true }).map(({ metadata }: KubeObject) => metadata.name),
    ["functions.pkg.crossplane.io", "functionrevisions.pkg.crossplane.io"],
  );
});

test("columns read what controllers write", () => {
  const paths = Object.fromEntries(
    [...crds.values()].flatMap(({ versions }) =>
      versions.flatMap((one) => one.additionalPrinterColumns.map(({ name, jsonPath }) => [name, jsonPath])),
    ),
  );
  assert.deepEqual(paths, {
    INSTALLED: ".status.conditions[?(@.type=='Installed')].status",
    HEALTHY: ".status.conditions[?(@.type=='RevisionHealthy')].status",
    "RUNTIME-HEALTHY": ".status.conditions[?(@.type=='RuntimeHealthy')].status",
    "RUNTIME-ACTIVE": ".status.conditions[?(@.type=='RuntimeActive')].status",
    PACKAGE: ".spec.package",
    IMAGE: ".spec.image",
    STATE: ".spec.desiredState",
    AGE: ".metadata.creationTimestamp",
    REVISION: ".spec.revision",
    "DEP-FOUND": ".status.foundDependencies",
    "DEP-INSTALLED": ".status.installedDependencies",
  });
});

const specFields = (kind: string, part: "spec" | "status" = "spec"): string[] =>
  Object.keys(crd(kind).versions[0]?.schema.openAPIV3Schema.properties[part]?.properties ?? {}).toSorted();

test("the fields of a spec are those of the kind", () => {
  const pulled = [
    "commonAnnotations",
    "commonLabels",
    "ignoreCrossplaneConstraints",
    "packagePullPolicy",
    "packagePullSecrets",
    "skipDependencyResolution",
  ];
  const common = [...pulled, "activeRevisionLimit", "package", "revisionActivationPolicy", "revisionHistoryLimit"];
  assert.deepEqual(specFields("Configuration"), common.toSorted());
  for (const kind of ["Function", "Provider"])
    assert.deepEqual(specFields(kind), [...common, "runtimeConfigRef"].toSorted());
  const revision = [...pulled, "desiredState", "image", "revision"];
  const runtime = ["runtimeConfigRef", "tlsClientSecretName", "tlsServerSecretName"];
  assert.deepEqual(specFields("ConfigurationRevision"), revision.toSorted());
  assert.deepEqual(specFields("ProviderRevision"), [...revision, ...runtime].toSorted());
  assert.deepEqual(specFields("FunctionRevision"), [...revision, ...runtime, "digest"].toSorted());
});

test("the fields of a status are those of the kind", () => {
  const common = ["appliedImageConfigRefs", "conditions", "currentIdentifier", "currentRevision", "resolvedPackage"];
  for (const kind of ["Provider", "Configuration"]) assert.deepEqual(specFields(kind, "status"), common);
  assert.deepEqual(specFields("Function", "status"), ["activeRevisions", ...common]);
  const revision = [
    "appliedImageConfigRefs",
    "capabilities",
    "conditions",
    "foundDependencies",
    "installedDependencies",
    "invalidDependencies",
    "objectRefs",
    "resolvedImage",
  ];
  const runtime = ["tlsClientSecretName", "tlsServerSecretName"];
  assert.deepEqual(specFields("ConfigurationRevision", "status"), revision.toSorted());
  assert.deepEqual(specFields("ProviderRevision", "status"), [...revision, ...runtime].toSorted());
  assert.deepEqual(specFields("FunctionRevision", "status"), [...revision, ...runtime, "endpoint"].toSorted());
});

test("without several active revisions, packages get the defaults of Crossplane and no other", () => {
  for (const crd of packageCrds({ functionRevisionSelectors: false })) {
    const { names, versions } = crd["spec"] as unknown as Spec;
    for (const { schema } of versions) {
      const limit = schema.openAPIV3Schema.properties["spec"]?.properties?.["activeRevisionLimit"];
      assert.ok(limit === undefined || !("default" in limit), names.kind);
    }
  }
});
