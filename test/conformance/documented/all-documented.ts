// SPDX-License-Identifier: Apache-2.0
import { apiObjectDifferences } from "./api-objects.ts";
import { builtinDifferences } from "./builtin-objects.ts";
import type { DocumentedDifference } from "./documented-difference.ts";

/** Every difference from Kubernetes that docs/reference/compatibility.md lists and a conversation can show. */
export const documentedDifferences: readonly DocumentedDifference[] = [...apiObjectDifferences, ...builtinDifferences];

/** Rows that need a server of their own, and the test that shows them. */
export const shownElsewhere: Readonly<Record<string, string>> = {
  "Controllers of workloads, scheduler and kubelets": "packages/workload-simulator/src/deployments/deployments.test.ts",
  "Admission plugins": "packages/cli/src/apiserver/server-options.test.ts",
  "APIServices of the server's own groups": "packages/kube-apiserver/src/server/own-objects.test.ts",
  "A data directory that is read-only from the start": "test/chaos/disk.test.ts",
  "Values of one body: fields, items, lists and objects": "test/hostile/objects/fields.test.ts",
  "Values that the defaults of a definition add to an object": "test/hostile/objects/defaults.test.ts",
  "Cells of one object in a Table": "packages/kube-apiserver/src/table/table.test.ts",
  "An empty list that `optMap` gives a name, plus another list: `optional.of([]).optMap(m, [m + [1], m])`":
    "packages/cel/src/program.test.ts",
  "Work of a CEL expression that its cost does not count": "test/hostile/objects/policies.test.ts",
  ...Object.fromEntries(
    [
      "Rights of a role that are compared with those of its writer",
      "Rules of a SelfSubjectRulesReview",
      "`rawSelector` of an access review",
    ].map((topic) => [topic, "test/hostile/objects/roles.test.ts"]),
  ),
  "Errors, unknown fields and conflicts that one response lists": "test/hostile/objects/bodies.test.ts",
  "Indented JSON, and YAML": "test/hostile/objects/responses.test.ts",
  "Large responses of one user": "packages/kube-apiserver/src/http/write-body.test.ts",
  "Roles that are not found, in the reason of a denied request": "test/hostile/objects/roles.test.ts",
  "Requests of one user": "test/hostile/objects/responses.test.ts",
  "A wrong text in an error": "packages/kube-objects/src/errors/status-error.test.ts",
  ...Object.fromEntries(
    [
      "Range of node ports in a dry run",
      "A Service changed to `ExternalName` with another `clusterIP` and without `clusterIPs`",
      "`generation` when a list or map is sent empty instead of left out (webhook configurations, NetworkPolicies), or when only fields change that are dropped (EndpointSlices, ResourceSlices)",
      "Empty maps in the differences that a refused change of a PersistentVolume or PersistentVolumeClaim shows",
      "Numbers of the volumes in errors about the claim templates of a StatefulSet",
    ].map((topic) => [topic, "test/conformance/random-kinds.test.ts"]),
  ),
  "Response of a webhook": "packages/kube-apiserver/src/admission/webhook-safety.test.ts",
};
