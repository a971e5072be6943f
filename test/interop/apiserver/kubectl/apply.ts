// SPDX-License-Identifier: Apache-2.0
import { inDiff } from "./made-up.ts";
import type { Script } from "./step.ts";

const deployment = (image: string, more = ""): string => `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: main
        image: ${image}
        ports: [{containerPort: 80}]
        env: [{name: A, value: "1"}, {name: B, value: "2"}]
${more}`;

const sidecar = `
      - name: side
        image: side:1
`;

const configMaps = (names: readonly string[]): string =>
  names.map((name) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, labels: {set: a}}\n`).join("---\n");

/** Client-side apply: three-way merges, diffs, validation and pruning. */
export const apply: Script = {
  name: "apply",
  steps: [
    { run: "create namespace apply" },
    { run: "diff -f -", input: deployment("web:1"), madeUp: inDiff },
    { run: "apply -f - --dry-run=server", input: deployment("web:1") },
    { run: "apply -f -", input: deployment("web:1") },
    { run: "apply -f -", input: deployment("web:1") },
    { run: "get deployment web -o yaml" },
    { run: "diff -f -", input: deployment("web:1") },
    { run: "apply -f - -o yaml", input: deployment("web:2", sidecar) },
    { run: "apply view-last-applied deployment web" },
    {
      run: 'patch deployment web -p \'{"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"name":"C","value":"3"}]}]}}}}\'',
    },
    {
      run: "get deployment web -o jsonpath='{.spec.template.spec.containers[*].name} {.spec.template.spec.containers[0].env[*].name}'",
    },
    { run: "apply -f -", input: deployment("web:3") },
    {
      run: "get deployment web -o jsonpath='{.spec.template.spec.containers[*].image} {.spec.template.spec.containers[0].env[*].name}'",
    },
    { run: "get deployment web -o json --show-managed-fields" },
    {
      run: "apply -f -",
      input: deployment("web:3").replace("replicas: 2", "replicas: many"),
    },
    { run: "apply -f -", input: deployment("web:3").replace("replicas: 2", "replicaz: 2") },
    { run: "apply -f - --validate=warn", input: deployment("web:3").replace("replicas: 2", "replicaz: 2") },
    { run: "apply -f - --validate=ignore", input: deployment("web:3").replace("replicas: 2", "replicaz: 2") },
    { run: "apply -f -", input: deployment("web:3").replaceAll("matchLabels: {app: web}", "matchLabels: {app: x}") },
    {
      run: "apply -f - --dry-run=server",
      input: deployment("web:3").replace("name: main", "name: Not_A_Name"),
    },
    { run: "apply -f -", input: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: twice}\ndata: {a: '1', a: '2'}\n" },
    {
      run: "apply -f -",
      input: "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 99999}]}\n",
    },
    { run: "create -f -", input: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: made}\ndata: {a: '1'}\n" },
    { run: "apply -f -", input: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: made}\ndata: {a: '2'}\n" },
    {
      run: "apply set-last-applied -f -",
      input: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: made}\ndata: {a: '3'}\n",
    },
    { run: "apply --prune -l set=a -f - --prune-allowlist=core/v1/ConfigMap", input: configMaps(["p1", "p2", "p3"]) },
    {
      run: "apply --prune -l set=a -f - --prune-allowlist=core/v1/ConfigMap",
      input: configMaps(["p2"]),
      unordered: true,
    },
    { run: "get cm -l set=a" },
    { run: "edit deployment web", edit: ["s/replicas: 2/replicas: 4/"] },
    { run: "get deployment web -o jsonpath={.spec.replicas}" },
    { run: "delete -f -", input: deployment("web:3") },
    { run: "delete -f - --ignore-not-found", input: deployment("web:3") },
  ],
};
