// SPDX-License-Identifier: Apache-2.0
// Recorded runs of the control plane, as explanations read them.
import type { ObjectRef, RecordedRun, RunHistory } from "@purlin/explain";
import {
  Ready,
  type ResourceSelector,
  type RunFunctionResponse,
  Severity,
  type State,
} from "@purlin/function-protocol";
import type { KubeClient } from "@purlin/kube-client";
import { type JsonObject, printJson } from "@purlin/kube-objects/json";
import {
  inflateRun,
  lastCall,
  queryOf,
  type Run,
  type RunDocument,
  type RunStepMessages,
  type RunSummary,
  runsPath,
} from "@purlin/run-store";
import { createRunsAsker } from "../runs/runs-source.ts";

/** The runs that the control plane has recorded; undefined when it records none. */
export async function recordedHistory(client: KubeClient, signal: AbortSignal): Promise<RunHistory | undefined> {
  const ask = createRunsAsker(client, { signal });
  const list = async (composite: ObjectRef | undefined, limit: number): Promise<readonly RunSummary[]> => {
    const { kind, name, namespace } = composite ?? {};
    const answer = await ask(runsPath, queryOf({ kind, name, namespace, limit }));
    return (answer as { readonly items: readonly RunSummary[] }).items;
  };
  // Any failure means that runs cannot be read here: the explanation says that the recorder is off.
  const isThere = await list(undefined, 1).then(
    () => true,
    () => false,
  );
  if (!isThere) return undefined;
  return {
    async runsOf(composite, limit) {
      const summaries = await list(composite, limit);
      const documents = await Promise.all(summaries.map(({ id }) => ask(`${runsPath}/${encodeURIComponent(id)}`)));
      return documents.map((document) => toRecorded(inflateRun(document as RunDocument)));
    },
  };
}

function toRecorded(run: Run): RecordedRun {
  const observed = run.steps[0]?.calls[0]?.request.observed;
  const steps = run.steps.map(toStep);
  const none: RecordedRun["desired"] = { resources: {} };
  return {
    id: run.id,
    time: run.began,
    repeats: run.repeats,
    observedHash: inputOf(run.composite, observed),
    observed: objectsOf(observed),
    steps,
    desired: steps.at(-1)?.desired ?? none,
  };
}

/** What a function decides by: the spec of the composite resource and the status of its resources. */
function inputOf(composite: JsonObject, observed: State | undefined): string {
  const resources = Object.entries(objectsOf(observed)).map(([name, object]) => [name, object["status"]]);
  return printJson([composite["spec"], resources.toSorted()]);
}

function objectsOf(state: State | undefined): Readonly<Record<string, JsonObject>> {
  const entries = [...(state?.resources ?? [])].map(([name, { resource }]) => [
    name,
    (resource?.value ?? {}) as JsonObject,
  ]);
  return Object.fromEntries(entries) as Readonly<Record<string, JsonObject>>;
}

type RecordedStep = RecordedRun["steps"][number];

function toStep(step: RunStepMessages): RecordedStep {
  const call = lastCall(step);
  const results = call?.response?.results ?? [];
  return {
    step: step.name,
    functionName: step.function,
    durationMs: step.durationMs,
    rounds: step.calls.map(({ response }) => [...selectorsOf(response)].map(([name, one]) => selectorText(name, one))),
    missing: missingIn(call),
    warnings: results.filter(({ severity }) => severity === Severity.SEVERITY_WARNING).map(({ message }) => message),
    desired: desiredOf(call?.response?.desired),
  };
}

function selectorsOf(response: RunFunctionResponse | undefined): ReadonlyMap<string, ResourceSelector> {
  const { resources = new Map(), extraResources = new Map() } = response?.requirements ?? {};
  return new Map([...extraResources, ...resources]);
}

function selectorText(name: string, { kind, match }: ResourceSelector): string {
  return match?.case === "matchName" ? `${kind} ${match.value}` : `${kind} (${name})`;
}

/** Requirements that were looked up and matched nothing. */
function missingIn(call: ReturnType<typeof lastCall>): RecordedStep["missing"] {
  if (call === undefined) return [];
  const { request, response } = call;
  const resources = [...selectorsOf(response)].flatMap(([name, { apiVersion, kind, match, namespace }]) => {
    const answer = request.requiredResources.get(name) ?? request.extraResources.get(name);
    if (answer === undefined || answer.items.length > 0 || match?.case !== "matchName") return [];
    return [{ what: "resource" as const, apiVersion, kind, name: match.value, ...(namespace ? { namespace } : {}) }];
  });
  const schemas = [...(response?.requirements?.schemas ?? [])].flatMap(([name, { apiVersion, kind }]) => {
    const answer = request.requiredSchemas.get(name);
    return answer !== undefined && answer.openapiV3 === undefined
      ? [{ what: "schema" as const, apiVersion, kind }]
      : [];
  });
  return [...resources, ...schemas];
}

function desiredOf(state: State | undefined): RecordedStep["desired"] {
  const resources = [...(state?.resources ?? [])].map(([name, { resource, ready }]) => [
    name,
    { object: (resource?.value ?? {}) as JsonObject, ready: readiness(ready) },
  ]);
  const { composite } = state ?? {};
  return {
    composite: composite?.resource?.value as JsonObject | undefined,
    compositeReady: readiness(composite?.ready),
    resources: Object.fromEntries(resources) as RecordedStep["desired"]["resources"],
  };
}

function readiness(ready: Ready | undefined): "True" | "False" | "Unspecified" {
  if (ready === Ready.READY_TRUE) return "True";
  return ready === Ready.READY_FALSE ? "False" : "Unspecified";
}
