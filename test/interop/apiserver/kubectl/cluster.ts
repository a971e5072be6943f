// SPDX-License-Identifier: Apache-2.0
import { ofTheBuild } from "./made-up.ts";
import type { Script } from "./step.ts";

const event = (name: string, type: string): string => `
apiVersion: v1
kind: Event
metadata: {name: ${name}}
involvedObject: {apiVersion: v1, kind: ConfigMap, name: subject, namespace: cluster}
type: ${type}
reason: Tested
message: it was tested
source: {component: tester}
count: 3
firstTimestamp: "2026-01-01T00:00:00Z"
lastTimestamp: "2026-01-01T00:00:00Z"
`;

// Built-in schemas are served without their descriptions, which would be most of what the program weighs.
const descriptions = /^ {4}|^ *$|^DESCRIPTION/;

/** What a server reports about itself, its kinds and the user. */
export const cluster: Script = {
  name: "cluster",
  steps: [
    { run: "create namespace cluster" },
    { run: "version -o json", madeUp: ofTheBuild },
    { run: "cluster-info" },
    { run: "api-versions", fewerKinds: true },
    { run: "api-resources", fewerKinds: true },
    { run: "api-resources --namespaced=false -o name --sort-by=name", fewerKinds: true },
    { run: "api-resources --verbs=list,watch -o name", fewerKinds: true },
    { run: "api-resources --categories=all -o wide", fewerKinds: true },
    { run: "get namespaces" },
    { run: "get --raw /healthz" },
    { run: "get --raw /readyz" },
    { run: "get --raw /livez/ping" },
    { run: "get --raw /nothing" },
    { run: "explain configmap", ignore: descriptions },
    { run: "explain deployment.spec.template.spec.containers --recursive", ignore: descriptions },
    { run: "explain pods.spec.affinity", ignore: descriptions },
    { run: "explain pods.spec.nothing" },
    { run: "explain nonsense" },
    { run: "explain cronjob.spec", ignore: descriptions },
    { run: "explain lease --output=plaintext-openapiv2", ignore: descriptions },
    { run: "auth whoami" },
    { run: "auth whoami -o yaml" },
    { run: "auth can-i create configmaps" },
    { run: "auth can-i '*' '*' --all-namespaces" },
    { run: "auth can-i get pods/log" },
    { run: "auth can-i get /metrics" },
    { run: "auth can-i get nonsense" },
    { run: "auth can-i create configmaps --as=stranger" },
    { run: "auth can-i --list --as=stranger" },
    { run: "create rolebinding reader --clusterrole=view --user=reader" },
    { run: "auth can-i get configmaps --as=reader" },
    { run: "auth can-i --list --as=reader" },
    { run: "auth can-i create configmaps --as=reader" },
    { run: "get cm --as=stranger" },
    { run: "auth whoami --as=guest --as-group=some --as-group=others" },
    { run: "create sa robot" },
    { run: "create token robot" },
    { run: "create token robot --duration=20m --audience=one" },
    { run: "create token robot --duration=1m" },
    { run: "create token missing" },
    { run: "create cm subject" },
    { run: "create -f -", input: event("first", "Normal") },
    { run: "create -f -", input: event("second", "Warning") },
    { run: "get events" },
    { run: "get events -o wide" },
    { run: "get events.events.k8s.io" },
    { run: "events" },
    { run: "events --for=configmap/subject --types=Warning" },
    { run: "events -o json" },
    { run: "describe cm subject" },
    { run: "get events --field-selector type=Warning,involvedObject.name=subject -o name" },
    { run: "get apiservices v1.apps" },
    { run: "get clusterroles view -o name" },
    { run: "get svc -n default" },
    { run: "logs nothing" },
    { run: "exec nothing -- true" },
    { run: "top pods" },
    { run: "delete sa robot" },
  ],
};
