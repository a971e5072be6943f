// SPDX-License-Identifier: Apache-2.0
import type { Script } from "./step.ts";

const secret = `
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {user: me, password: "1234"}
data: {extra: aGVsbG8=}
`;

const everything = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: two, labels: {app: web, tier: back}}, data: {a: "2"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: three, labels: {app: web}}, data: {a: "3"}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot}}
`;

const list = `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ServiceAccount, metadata: {name: listed}}
- {apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: listed}}
`;

/** Makes, shows and changes plain objects in every way kubectl has. */
export const objects: Script = {
  name: "objects",
  steps: [
    { run: "create namespace objects" },
    { run: "create namespace objects" },
    { run: "create configmap one --from-literal=a=1 --from-literal=b=2" },
    { run: "create secret generic made --from-literal=k=v" },
    { run: "create -f -", input: secret },
    { run: "create -f -", input: everything },
    { run: "create -f -", input: everything },
    { run: "create -f -", input: list },
    { run: "create -f -", input: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Bad_Name}\n" },
    {
      run: "create -f -",
      input: "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: made-}\n",
      madeUp: [[/made-[a-z0-9]{5}\b/g, "made-<random>"]],
    },
    {
      run: "create -f -",
      input: "apiVersion: v2\nkind: ConfigMap\nmetadata: {name: x}\n",
    },
    { run: "create -f - --dry-run=server -o yaml", input: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: dry}\n" },
    { run: "get configmaps --field-selector metadata.name!=kube-root-ca.crt -l app" },
    { run: "get cm one -o json --show-managed-fields" },
    { run: "get cm,sa,secrets -l app=web" },
    { run: "get cm one two -o name" },
    { run: "get cm -l 'app in (web),tier!=back' -o wide --show-labels" },
    { run: "get cm -l app=web -L app,tier" },
    { run: "get cm -l app=web -o json" },
    { run: "get cm -l app=web --sort-by={.data.a} -o custom-columns=NAME:.metadata.name,A:.data.a" },
    { run: "get cm one -o jsonpath='{.data.a} {.metadata.namespace}'" },
    { run: "get cm one -o go-template='{{range $k, $v := .data}}{{$k}}={{$v}};{{end}}'" },
    { run: "get cm none" },
    { run: "get cm none --ignore-not-found" },
    { run: "get nonsense" },
    { run: "get cm -l 'a b'" },
    { run: "get secrets" },
    { run: "get secret keys -o jsonpath='{.data}'" },
    { run: "get namespaces objects" },
    { run: "get cm --chunk-size=1 -l app=web" },
    { run: "describe cm one" },
    { run: "describe secret keys" },
    // Quotas and limits are kinds the embedded server does not have.
    { run: "describe namespace objects", ignore: /^No (resource quota|LimitRange)|^ *$/ },
    { run: "describe sa robot" },
    { run: "label cm one app=db" },
    { run: "label cm one app=web" },
    { run: "label cm one app=web --overwrite" },
    { run: "label cm one app-" },
    { run: "label cm one 'x=not valid'" },
    { run: "label cm -l app=web all=yes" },
    { run: "annotate cm one note='a longer text'" },
    { run: "annotate cm one note-" },
    { run: 'patch cm one -p \'{"data":{"c":"3"}}\'' },
    { run: 'patch cm one -p \'{"data":{"c":"3"}}\'' },
    { run: 'patch cm one --type=merge -p \'{"data":{"c":null}}\' -o yaml' },
    { run: 'patch cm one --type=json -p \'[{"op":"replace","path":"/data/a","value":"9"}]\' -o jsonpath={.data}' },
    { run: 'patch cm one --type=json -p \'[{"op":"test","path":"/data/a","value":"0"}]\'' },
    { run: 'patch cm one --type=json -p \'[{"op":"remove","path":"/data/zz"}]\'' },
    { run: 'patch cm one -p \'{"data":{"c":3}}\'' },
    { run: 'patch cm one -p \'{"metadata":{"resourceVersion":"1"},"data":{"c":"x"}}\'' },
    { run: "edit cm one", edit: ['s/a: "9"/a: edited/', "/^  b:/d"] },
    { run: "get cm one -o jsonpath={.data}" },
    { run: "edit cm one", edit: ["s/nothing/nothing/"] },
    {
      run: "edit cm one",
      edit: ["s/^data:/dta:/"],
      madeUp: [[/kubectl-edit-\d+\.yaml/g, "kubectl-edit-<number>.yaml"]],
    },
    { run: "replace -f -", input: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {fresh: 'yes'}\n" },
    { run: "replace -f -", input: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: absent}\n" },
    {
      run: "replace --force -f -",
      input: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {forced: 'yes'}\n",
    },
    { run: "get cm one -o json --show-managed-fields" },
    { run: "delete cm one two" },
    { run: "delete cm one" },
    { run: "delete cm -l app=web" },
    { run: "delete secret keys made" },
    { run: "get secrets,cm -l app" },
    { run: "delete namespace objects" },
    { run: "get namespace objects" },
  ],
};
