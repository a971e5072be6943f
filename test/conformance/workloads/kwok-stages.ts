// SPDX-License-Identifier: Apache-2.0
// How kwok plays the kubelet of the cluster: Nodes become ready, and the containers of Pods run, end and fail as their annotations say. The order
// of conditions and the reasons of events are those of the kubelet 1.36.
import type { JsonObject } from "@purlin/kube-objects/json";

interface StageEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
}

interface StageOptions {
  /** A jq expression: whether the stage is due for an object. */
  readonly when: string;
  /** A jq expression: how long it waits, as Go prints durations. */
  readonly after?: string;
  readonly events?: readonly StageEvent[];
  /** A template of the new status. */
  readonly status?: string;
  /** Removes the object from the API server. */
  readonly removes?: boolean;
}

function stage(
  kind: string,
  name: string,
  { when, after, events = [], status, removes = false }: StageOptions,
): JsonObject {
  const expression = { jq: { key: when, operator: "In", values: ["true"] } };
  const patch = { subresource: "status", root: "status", type: "merge", template: status ?? "" };
  return {
    apiVersion: "kwok.x-k8s.io/v1alpha1",
    kind: "Stage",
    metadata: { name },
    spec: {
      resourceRef: { apiGroup: "v1", kind },
      selector: { matchExpressions: [expression] },
      ...(after !== undefined && { delay: { durationFrom: { jq: { expression: after } } } }),
      steps: [
        ...events.map((event) => ({ event: { ...event, message: "by kwok" } })),
        ...(status === undefined ? [] : [{ patch }]),
        ...(removes ? [{ delete: true }] : []),
      ],
    },
  };
}

const nodeStatus = `
conditions:
${[
  ["MemoryPressure", "False", "KubeletHasSufficientMemory"],
  ["DiskPressure", "False", "KubeletHasNoDiskPressure"],
  ["PIDPressure", "False", "KubeletHasSufficientPID"],
  ["Ready", "True", "KubeletReady"],
]
  .map(
    ([type, status, reason]) =>
      `- {type: ${type}, status: "${status}", reason: ${reason}, lastTransitionTime: {{ Now | Quote }}}`,
  )
  .join("\n")}
addresses: [{type: InternalIP, address: 10.244.0.1}]
allocatable: {cpu: "64", memory: 256Gi, pods: "65000"}
capacity: {cpu: "64", memory: 256Gi, pods: "65000"}
`;

const annotation = (name: string): string => `.metadata.annotations["simulation.purlin.dev/${name}"]`;
const outcome = annotation("outcome");
const container = ".status.containerStatuses[0]";
const all = (...terms: readonly string[]): string => terms.map((term) => `(${term})`).join(" and ");

const isAlive = `.metadata.deletionTimestamp == null and .status.phase != "Succeeded" and .status.phase != "Failed"`;
const isNew = all(isAlive, ".status.containerStatuses == null");
const isRunning = `${container}.state.running != null`;
const cannotPull = `${outcome} == "ImagePullBackOff"`;
/** Containers of Pods that are not restarted after success end by themselves. */
const ends = `if ${outcome} == null then .spec.restartPolicy != "Always" else ${outcome} | test("^(exit|CrashLoopBackOff|OOMKilled)") end`;
const succeeds = `${outcome} == null or ${outcome} == "exit 0"`;
const isRestarted = `.spec.restartPolicy == "Always" or (.spec.restartPolicy == "OnFailure" and (${succeeds} | not))`;
const isOver = all(isAlive, isRunning, ends, `(${isRestarted}) | not`);
const isFailing = all(isAlive, isRunning, ends, isRestarted);
/** The kubelet waits 10 s before the second restart, and twice as long before each that follows. */
const backOff = `((10 * pow(2; ${container}.restartCount - 1)) | tostring) + "s"`;

const started: readonly StageEvent[] = ["Pulled", "Created", "Started"].map((reason) => ({ type: "Normal", reason }));
const pullFailures: readonly StageEvent[] = [
  { type: "Normal", reason: "Pulling" },
  { type: "Warning", reason: "Failed" },
  { type: "Normal", reason: "BackOff" },
];

const running = "{running: {startedAt: {{ Now | Quote }}}}";
const terminated =
  "{terminated: {exitCode: {{ $code }}, reason: {{ $reason }}, startedAt: {{ Now | Quote }}, finishedAt: {{ Now | Quote }}}}";

/** What the template of a Pod's status depends on. */
interface PodState {
  readonly phase: string;
  readonly state: string;
  readonly lastState?: string;
  readonly isReady?: boolean;
  readonly restarts?: string;
  /** The reason of conditions that are false, and that of Initialized. */
  readonly reason?: string;
  readonly initialized?: string;
  readonly isOver?: boolean;
}

function podStatus(options: PodState): string {
  const { phase, state, lastState = "{}", isReady = false, restarts = "0", isOver: over = false } = options;
  const { reason = "ContainersNotReady", initialized = '""' } = options;
  const names = "[{{ range $i, $c := .spec.containers }}{{ if $i }} {{ end }}{{ $c.name }}{{ end }}]";
  const message = over ? "" : `, message: "containers with unready status: ${names}"`;
  const serving = isReady ? 'status: "True"' : `status: "False", reason: ${reason}${message}`;
  const condition = (type: string, rest: string): string =>
    `- {type: ${type}, observedGeneration: {{ .metadata.generation }}, lastTransitionTime: {{ Now | Quote }}, ${rest}}`;
  return `
{{ $outcome := dig "metadata" "annotations" "simulation.purlin.dev/outcome" "exit 0" . }}
{{ $code := "1" }}{{ $reason := "Error" }}{{ $restarts := 0 }}
{{ if hasPrefix "exit " $outcome }}{{ $code = trimPrefix "exit " $outcome }}{{ end }}
{{ if eq $outcome "OOMKilled" }}{{ $code = "137" }}{{ $reason = "OOMKilled" }}{{ end }}
{{ if eq $code "0" }}{{ $reason = "Completed" }}{{ end }}
{{ range .status.containerStatuses }}{{ $restarts = .restartCount }}{{ end }}
phase: ${phase}
observedGeneration: {{ .metadata.generation }}
hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
hostIPs: [{ip: {{ NodeIPWith .spec.nodeName | Quote }}}]
{{ $ip := PodIPWith .spec.nodeName (or .spec.hostNetwork false) .metadata.uid .metadata.name .metadata.namespace }}
podIP: {{ $ip | Quote }}
podIPs: [{ip: {{ $ip | Quote }}}]
startTime: {{ or .status.startTime Now | Quote }}
conditions:
${condition("PodReadyToStartContainers", `status: "${over ? "False" : "True"}"`)}
${condition("Initialized", `status: "True", reason: ${initialized}`)}
${condition("Ready", serving)}
${condition("ContainersReady", serving)}
${condition("PodScheduled", 'status: "True"')}
containerStatuses:
{{ range .spec.containers }}
- {name: {{ .name | Quote }}, image: {{ .image | Quote }}, imageID: "", ready: ${isReady}, started: ${state === running},
   restartCount: ${restarts}, state: ${state}, lastState: ${lastState}}
{{ end }}
`;
}

const restarted = podStatus({
  phase: "Running",
  state: running,
  lastState: terminated,
  isReady: true,
  restarts: "{{ add $restarts 1 }}",
});

/** The stages of Nodes and Pods. */
export const kwokStages: readonly JsonObject[] = [
  stage("Node", "node-ready", {
    when: `[.status.conditions[]? | select(.type == "Ready")] == []`,
    status: nodeStatus,
  }),
  stage("Pod", "pod-start", {
    when: all(isNew, `(${cannotPull}) | not`, `${annotation("ready-after")} == null`),
    events: started,
    status: podStatus({ phase: "Running", state: running, isReady: true }),
  }),
  stage("Pod", "pod-start-unready", {
    when: all(isNew, `(${cannotPull}) | not`, `${annotation("ready-after")} != null`),
    events: started,
    status: podStatus({ phase: "Running", state: running }),
  }),
  stage("Pod", "pod-pull-failure", {
    when: all(isNew, cannotPull),
    events: pullFailures,
    status: podStatus({ phase: "Pending", state: "{waiting: {reason: ImagePullBackOff}}" }),
  }),
  stage("Pod", "pod-ready", {
    when: all(isAlive, isRunning, `(${ends}) | not`, `${container}.ready == false`),
    after: annotation("ready-after"),
    status: podStatus({ phase: "Running", state: running, isReady: true, restarts: "{{ $restarts }}" }),
  }),
  stage("Pod", "pod-success", {
    when: all(isOver, succeeds),
    after: annotation("outcome-after"),
    status: podStatus({
      ...{ phase: "Succeeded", state: terminated, restarts: "{{ $restarts }}" },
      ...{ reason: "PodCompleted", initialized: "PodCompleted", isOver: true },
    }),
  }),
  stage("Pod", "pod-failure", {
    when: all(isOver, `(${succeeds}) | not`),
    after: annotation("outcome-after"),
    status: podStatus({
      ...{ phase: "Failed", state: terminated, restarts: "{{ $restarts }}" },
      ...{ reason: "PodFailed", isOver: true },
    }),
  }),
  stage("Pod", "pod-restart", {
    when: all(isFailing, `${container}.restartCount == 0`),
    after: annotation("outcome-after"),
    events: started,
    status: restarted,
  }),
  stage("Pod", "pod-back-off", {
    when: all(isFailing, `${container}.restartCount > 0`),
    after: annotation("outcome-after"),
    events: [{ type: "Warning", reason: "BackOff" }],
    status: podStatus({
      ...{ phase: "Running", state: "{waiting: {reason: CrashLoopBackOff}}" },
      ...{ lastState: terminated, restarts: "{{ $restarts }}" },
    }),
  }),
  stage("Pod", "pod-restart-later", {
    when: all(isAlive, `${container}.state.waiting.reason == "CrashLoopBackOff"`),
    after: backOff,
    events: started,
    status: restarted,
  }),
  stage("Pod", "pod-stop", {
    when: all(".metadata.deletionTimestamp != null", ".metadata.deletionGracePeriodSeconds != 0", isRunning),
    events: [{ type: "Normal", reason: "Killing" }],
    removes: true,
  }),
  stage("Pod", "pod-removal", {
    when: all(
      ".metadata.deletionTimestamp != null",
      ".metadata.deletionGracePeriodSeconds != 0",
      `(${isRunning}) | not`,
    ),
    removes: true,
  }),
];
