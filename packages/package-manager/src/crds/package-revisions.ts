// SPDX-License-Identifier: Apache-2.0

import {
  ageColumn,
  type Column,
  column,
  conditionColumn,
  conditions,
  createCrd,
  integer,
  listOf,
  object,
  text,
  wideColumn,
} from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Schema } from "@purlin/kube-objects/schema";
import { packageRevisionDocs } from "./docs/package-docs.ts";
import {
  crossplaneCategory,
  defaultRuntimeConfigRef,
  hasRuntime,
  imageConfigRefs,
  type PackageKind,
  packageGroup,
  pullFields,
  versionsOf,
} from "./package-shapes.ts";

const tlsFields = { tlsClientSecretName: text, tlsServerSecretName: text };

function specOf(kind: PackageKind): Schema {
  return object({
    ...pullFields,
    "desiredState*": text,
    ...(kind === "Function" && { digest: { ...text, pattern: "^sha256:[0-9a-f]{64}$" } }),
    "image*": text,
    "revision*": integer,
    ...(hasRuntime(kind) && { runtimeConfigRef: defaultRuntimeConfigRef, ...tlsFields }),
  });
}

function statusOf(kind: PackageKind): Schema {
  return object({
    appliedImageConfigRefs: imageConfigRefs,
    capabilities: listOf(text),
    conditions,
    ...(kind === "Function" && { endpoint: text }),
    foundDependencies: integer,
    installedDependencies: integer,
    invalidDependencies: integer,
    objectRefs: listOf(object({ "apiVersion*": text, "kind*": text, "name*": text, uid: text })),
    resolvedImage: text,
    ...(hasRuntime(kind) && tlsFields),
  });
}

function columnsOf(kind: PackageKind): readonly Column[] {
  const runtime = [
    conditionColumn("RUNTIME-HEALTHY", "RuntimeHealthy"),
    conditionColumn("RUNTIME-ACTIVE", "RuntimeActive"),
  ];
  return [
    conditionColumn("HEALTHY", "RevisionHealthy"),
    ...(hasRuntime(kind) ? runtime : []),
    column("IMAGE", ".spec.image"),
    column("STATE", ".spec.desiredState"),
    ageColumn,
    wideColumn("REVISION", ".spec.revision"),
    wideColumn("DEP-FOUND", ".status.foundDependencies"),
    wideColumn("DEP-INSTALLED", ".status.installedDependencies"),
  ];
}

/** The CRD of the revisions of a kind of package. */
export function packageRevisionCrd(kind: PackageKind): KubeObject {
  const shape = {
    fields: { spec: specOf(kind), status: statusOf(kind) },
    columns: columnsOf(kind),
    hasStatus: true,
  };
  return createCrd({
    group: packageGroup,
    kind: `${kind}Revision`,
    docs: packageRevisionDocs(kind),
    plural: `${kind.toLowerCase()}revisions`,
    categories: [crossplaneCategory, "pkgrev"],
    versions: versionsOf(kind).map((name, index) => ({ name, isStored: index === 0, ...shape })),
  });
}
