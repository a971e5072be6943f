// SPDX-License-Identifier: Apache-2.0
import { inDiff } from "./made-up.ts";
import type { Script } from "./step.ts";

const settings = (data: string): string => `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: ${data}
`;

const service = `
apiVersion: v1
kind: Service
metadata: {name: front}
spec:
  clusterIP: None
  selector: {app: front}
  ports: [{name: http, port: 80}, {name: https, port: 443, protocol: TCP}]
`;

/** Server-side apply: owners, conflicts, and taking over what was applied by the client before. */
export const serverSideApply: Script = {
  name: "server-side-apply",
  steps: [
    { run: "create namespace server-side-apply" },
    { run: "apply --server-side -f -", input: settings("{a: '1', b: '1'}") },
    { run: "apply --server-side -f -", input: settings("{a: '1', b: '1'}") },
    { run: "get cm settings -o json --show-managed-fields" },
    { run: "apply --server-side --field-manager=other -f -", input: settings("{a: '2', c: '1'}") },
    { run: "apply --server-side --field-manager=other --force-conflicts -f -", input: settings("{a: '2', c: '1'}") },
    { run: "apply --server-side -f -", input: settings("{a: '1', b: '1'}") },
    { run: "apply --server-side -f -", input: settings("{b: '1'}") },
    { run: "get cm settings -o json --show-managed-fields" },
    { run: "apply --server-side -f - --dry-run=server -o json --show-managed-fields", input: settings("{z: '1'}") },
    { run: "diff --server-side -f -", input: settings("{b: '1'}") },
    { run: "diff --server-side -f -", input: settings("{b: '2'}"), madeUp: inDiff },
    { run: "apply --server-side -f -", input: settings("[1]") },
    { run: "apply --server-side -f -", input: `${settings("{b: '1'}")}spec: {}\n` },
    { run: "apply --server-side -f -", input: service },
    { run: "apply --server-side --field-manager=other -f -", input: service.replace("name: https", "name: tls") },
    { run: "apply --server-side -f -", input: service.replace(", {name: https, port: 443, protocol: TCP}", "") },
    { run: "get service front -o json --show-managed-fields" },
    { run: "apply -f -", input: settings("{b: '1'}").replace("settings", "moved") },
    { run: "apply --server-side -f -", input: settings("{b: '2', c: '3'}").replace("settings", "moved") },
    { run: "get cm moved -o json --show-managed-fields" },
    { run: "apply --server-side -f -", input: settings("{c: '3'}").replace("settings", "moved") },
    { run: "get cm moved -o jsonpath={.data}" },
    { run: "create --field-manager=maker -f -", input: settings("{a: '1'}").replace("settings", "clash") },
    { run: "apply --server-side -f -", input: settings("{a: '2'}").replace("settings", "clash") },
    { run: "delete cm,service --all", unordered: true },
  ],
};
