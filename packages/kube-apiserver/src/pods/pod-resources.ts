// SPDX-License-Identifier: Apache-2.0
import { inTurns, type Work } from "@purlin/base";
import { timestamp } from "@purlin/kube-objects/apply";
import {
  badRequest,
  conflict,
  forbidden,
  invalid,
  invalidValue,
  isConflict,
  modifiedText,
  notFound,
  requiredValue,
  StatusError,
  tooManyRequests,
  unclassifiedError,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { goQuote, isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, numberAt, objectAt, objectsAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { type LabelSelectorObject, matchesLabels, readingLabelSelector } from "@purlin/kube-objects/selector";
import { isDeleting, metaOf, withMeta } from "../objects/object-members.ts";
import { objectKey, type ResourceType } from "../registry/registry.ts";
import { type CompleteResponse, documentPayload } from "../request/api-request.ts";
import { admitUnstored } from "../rest/admitted-write.ts";
import { readBody, readObject } from "../rest/decode-object.ts";
import { deleteEvicted } from "../rest/delete.ts";
import { inStoredOrder } from "../rest/object-codec.ts";
import { negotiateForm } from "../rest/object-response.ts";
import type { DecodedBody } from "../rest/request-body.ts";
import type { SpecialResource } from "../rest/resources.ts";
import type { RestRequest } from "../rest/rest-context.ts";
import { type DeleteOptions, deleteOptionsOf, writeOptions } from "../rest/write-options.ts";
import type { Store } from "../store/store.ts";
import { typedStrategy } from "../strategy/typed-strategy.ts";

const pods = { group: "", resource: "pods" };
const bindings = { group: "", resource: "pods/binding" };

/** `bindings` and `pods/<name>/binding`: assigns a Pod to a node. */
function bindingResource(): SpecialResource {
  return (rest) => {
    const { type, target } = rest;
    if (type.group !== "" || target.verb !== "create") return undefined;
    const isBinding = type.resource === "bindings" || (type.resource === "pods" && target.subresource === "binding");
    return isBinding ? bind(rest) : undefined;
  };
}

async function bind(rest: RestRequest): Promise<CompleteResponse> {
  const { request, target } = rest;
  const { mediaType, pretty } = negotiateForm(request);
  const { object: binding, dryRun } = await readSent(rest, { group: "", version: "v1", kind: "Binding" });
  const name = target.name === "" ? (metaOf(binding).name ?? "") : target.name;
  if (target.name !== "" && metaOf(binding).name !== name) {
    throw badRequest("name in URL does not match name in Binding object");
  }
  requireValid(binding);
  const labelled = withTopology(rest, binding);
  await admitUnstored(rest, { ...labelled, apiVersion: "v1", kind: "Binding" }, dryRun);
  await assign(rest, { name, binding: labelled, dryRun });
  const success: JsonObject = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 };
  return { kind: "complete", code: 201, payload: documentPayload(success, { mediaType, pretty }) };
}

interface Sent {
  readonly object: JsonObject;
  readonly dryRun: boolean;
}

/** The object of a request whose kind is not that of its resource. */
async function readSent(rest: RestRequest, kind: Pick<ResourceType, "group" | "version" | "kind">): Promise<Sent> {
  const type: ResourceType = { ...rest.type, ...kind, custom: false };
  const own: RestRequest = { ...rest, type, strategy: typedStrategy(type, {}, rest.now) };
  const body = inCurrentVersion(await readBody(own));
  const { fieldValidation, dryRun } = writeOptions(rest.request, "CreateOptions");
  return { object: await inTurns(readObject(own, body, fieldValidation)), dryRun };
}

/** Clients may still send the version of evictions before this one, which has the same fields. */
function inCurrentVersion(body: DecodedBody): DecodedBody {
  const { value } = body;
  const isOlder = isJsonObject(value) && value["apiVersion"] === "policy/v1beta1";
  return isOlder ? { ...body, value: { ...value, apiVersion: "policy/v1" } } : body;
}

/** The reference answers with an error of no class here. */
function requireValid(binding: JsonObject): void {
  const kind = stringAt(binding, ["target", "kind"]);
  const errors = [
    ...(kind === "" || kind === "Node" ? [] : [unsupportedValue("target.kind", kind, ["Node", "<empty>"])]),
    ...(stringAt(binding, ["target", "name"]) === "" ? [requiredValue("target.name", "")] : []),
  ];
  const texts = errors.map(({ field, body }) => `${field}: ${body}`);
  if (texts.length > 0) throw unclassifiedError(texts.length === 1 ? (texts[0] ?? "") : `[${texts.join(", ")}]`);
}

/** Labels of nodes that their Pods get. */
const topologyLabels = ["topology.kubernetes.io/region", "topology.kubernetes.io/zone"];

/** A binding with the zone and the region of its node. The old collection of bindings does without. */
function withTopology({ type, store }: RestRequest, binding: JsonObject): JsonObject {
  if (type.resource !== "pods" || stringAt(binding, ["target", "kind"]) !== "Node") return binding;
  return withNodeTopology(binding, store, stringAt(binding, ["target", "name"]));
}

/** An object with the zone and the region of a node as labels; the same object when the node does not exist or has none. */
export function withNodeTopology(object: JsonObject, store: Store<JsonObject>, nodeName: string): JsonObject {
  const node = nodeName === "" ? undefined : store.get(`//nodes/${nodeName}`)?.value;
  const found = Object.entries(metaOf(node ?? {}).labels ?? {}).filter(([name]) => topologyLabels.includes(name));
  if (found.length === 0) return object;
  return withMeta(object, { labels: { ...metaOf(object).labels, ...Object.fromEntries(found) } });
}

interface Assignment {
  readonly name: string;
  /** Its labels and annotations are added to the Pod, its uid and resourceVersion are preconditions. */
  readonly binding: JsonObject;
  readonly dryRun: boolean;
}

async function assign(rest: RestRequest, assignment: Assignment): Promise<void> {
  const { store, target, now } = rest;
  const { name, dryRun, binding } = assignment;
  const key = `//pods/${target.namespace}/${name}`;
  await store.write(key, ({ current, revision }) => {
    if (current === undefined) throw notFound(pods, name);
    requirePreconditions(rest, { name, binding, pod: current.value });
    const bound = withNode(current.value, assignment, timestamp(now()));
    const versioned = withMeta(bound, { resourceVersion: String(revision) });
    return dryRun ? { action: "keep" } : { action: "put", value: inStoredOrder(versioned) };
  });
}

function requirePreconditions(
  { target }: RestRequest,
  { name, binding, pod }: { readonly name: string; readonly binding: JsonObject; readonly pod: JsonObject },
): void {
  const [sent, stored] = [metaOf(binding), metaOf(pod)];
  const refuse = (member: string, values: readonly [string, string]): void => {
    const why = `Precondition failed: ${member} in precondition: ${values[0]}, ${member} in object meta: ${values[1]}`;
    const storage = `StorageError: invalid object, Code: 4, Key: /registry/pods/${target.namespace}/${name}`;
    throw conflict(pods, name, `${storage}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`);
  };
  for (const [member, given, own] of [
    ["UID", sent.uid, stored.uid],
    ["ResourceVersion", sent.resourceVersion, stored.resourceVersion],
  ] as const) {
    if (given && given !== own) refuse(member, [given, own ?? ""]);
  }
}

function withNode(pod: JsonObject, { name, binding }: Assignment, at: string): JsonObject {
  if (isDeleting(pod)) throw conflict(bindings, name, `pod ${name} is being deleted, cannot be assigned to a host`);
  const assigned = stringAt(pod, ["spec", "nodeName"]);
  if (assigned !== "") throw conflict(bindings, name, `pod ${name} is already assigned to node ${goQuote(assigned)}`);
  if (objectsAt(pod, ["spec", "schedulingGates"]).length > 0) {
    throw conflict(bindings, name, `pod ${name} has non-empty .spec.schedulingGates`);
  }
  const { nominatedNodeName: _nominated, ...status } = objectAt(pod, ["status"]);
  const scheduled = { type: "PodScheduled", status: "True", lastProbeTime: null };
  const conditions = withCondition(objectsAt(status, ["conditions"]), scheduled, at);
  const nodeName = stringAt(binding, ["target", "name"]);
  const bound = { ...pod, spec: { ...objectAt(pod, ["spec"]), nodeName }, status: { ...status, conditions } };
  const [{ annotations, labels }, given] = [metaOf(pod), metaOf(binding)];
  return withMeta(bound, {
    annotations: added(annotations, given.annotations),
    labels: added(labels, given.labels),
  });
}

type Texts = Readonly<Record<string, string>>;

function added(own: Texts | null | undefined, more: Texts | null | undefined): Texts | undefined {
  return Object.keys(more ?? {}).length === 0 ? (own ?? undefined) : { ...own, ...more };
}

type NewCondition = JsonObject & { readonly type: string; readonly status: string };

/** The conditions with one of them set. The time of a transition stays when its status does. */
function withCondition(conditions: readonly JsonObject[], condition: NewCondition, at: string): JsonObject[] {
  const before = conditions.find(({ type }) => type === condition.type);
  const since = before?.["status"] === condition.status ? before["lastTransitionTime"] : undefined;
  const next = { ...condition, lastTransitionTime: since ?? at };
  return before === undefined ? [...conditions, next] : conditions.map((one) => (one === before ? next : one));
}

/** Sends requests of the server itself. A failure throws its Status. */
interface Sender {
  send(method: string, path: string, request: { readonly body: JsonObject }): Promise<unknown>;
}

const budgetGroup = { group: "policy", resource: "poddisruptionbudget" };
const violation = "Cannot evict pod as it would violate the pod's disruption budget.";
const conflictRetries = 5;

/** The resources by which Pods are assigned to nodes and evicted from them. */
export function podResources(client: Sender): readonly SpecialResource[] {
  return [evictionResource(client), bindingResource()];
}

/** `pods/<name>/eviction`: deletes a Pod if its disruption budget allows it. */
function evictionResource(client: Sender): SpecialResource {
  return (rest) =>
    rest.type.group === "" && rest.type.resource === "pods" && rest.target.subresource === "eviction"
      ? evict(rest, client)
      : undefined;
}

async function evict(rest: RestRequest, client: Sender): Promise<CompleteResponse> {
  const { request, target } = rest;
  const { mediaType, pretty } = negotiateForm(request);
  const sent = await readSent(rest, { group: "policy", version: "v1", kind: "Eviction" });
  const { name = "" } = metaOf(sent.object);
  if (name !== target.name) throw badRequest("name in URL does not match name in Eviction object");
  const { kind: _kind, apiVersion: _version, ...given } = objectAt(sent.object, ["deleteOptions"]);
  requireReadable(given, name);
  const dryRun = sent.dryRun || textsAt(given, ["dryRun"]).length > 0;
  await admitUnstored(rest, sent.object, dryRun);
  await evictJudged(rest, client, { given, dryRun });
  const success: JsonObject = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 };
  return { kind: "complete", code: 201, payload: documentPayload(success, { mediaType, pretty }) };
}

/** How often an eviction begins again because the Pod has changed after it was judged. */
const evictionAttempts = 10;

interface Eviction {
  /** The options of the deletion, as they were sent. */
  readonly given: JsonObject;
  readonly dryRun: boolean;
}

/** Judges the Pod as it is stored, and deletes it only while it is what was judged: one that has become ready counts for its budget. */
async function evictJudged(rest: RestRequest, client: Sender, { given, dryRun }: Eviction): Promise<void> {
  const { store, target, type } = rest;
  let options: DeleteOptions | undefined;
  for (let attempt = 1; ; attempt += 1) {
    const pod = store.get(objectKey(type, target.namespace, target.name))?.value;
    if (pod === undefined) throw notFound(type, target.name);
    options ??= { ...(await deleteOptionsOf(given)), dryRun };
    const isCounted = !ignoresBudget(pod) && (await takeFromBudget(rest, client, { pod, dryRun }));
    let isStale = false;
    const requireJudged = (current: JsonObject): void => {
      const [now, judged] = [metaOf(current), metaOf(pod)];
      isStale = now.uid !== judged.uid || (!isCounted && now.resourceVersion !== judged.resourceVersion);
      if (isStale) throw conflict(type, target.name, modifiedText);
    };
    try {
      // The eviction was admitted, not the deletion: webhooks for deletions are not called, and the user stays the evicting one.
      return await deleteEvicted(rest, options, requireJudged);
    } catch (error) {
      if (!isStale || attempt === evictionAttempts) throw error;
    }
  }
}

const unreadable = "ignoreStoreReadErrorWithClusterBreakingPotential";

/** An eviction cannot delete what cannot be read. */
function requireReadable(options: JsonObject, name: string): void {
  if (options[unreadable] !== true) return;
  const why = "can not be set for pod eviction, try after removing the option";
  throw invalid({ group: "policy", kind: "Eviction" }, name, [invalidValue(`deleteOptions.${unreadable}`, true, why)]);
}

const endedPhases = new Set(["Succeeded", "Failed", "Pending"]);

/** A Pod that does not run, or is being deleted, does not count for its budget. */
function ignoresBudget(pod: JsonObject): boolean {
  return endedPhases.has(stringAt(pod, ["status", "phase"])) || isDeleting(pod);
}

interface Evicted {
  readonly pod: JsonObject;
  readonly dryRun: boolean;
}

/** Whether the eviction counts for a budget, from which it is taken. Throws when the budget does not allow it. */
async function takeFromBudget(rest: RestRequest, client: Sender, { pod, dryRun }: Evicted): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    const [budget, ...others] = await inTurns(findingBudgets(rest, pod));
    if (budget === undefined) return false;
    if (others.length > 0) {
      const why = "which the eviction subresource does not support.";
      throw unclassifiedError(`This pod has more than one PodDisruptionBudget, ${why}`);
    }
    if (isUnhealthyAndAllowed(pod, budget)) return false;
    const next = withDisruption(budget, metaOf(pod).name ?? "", timestamp(rest.now()));
    if (dryRun) return true;
    const { namespace = "", name = "" } = metaOf(budget);
    try {
      await client.send("PUT", `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/${name}/status`, {
        body: next,
      });
      return true;
    } catch (error) {
      if (!isConflict(error) || attempt === conflictRetries) throw error;
    }
  }
}

/** The budgets of a Pod. Selectors and labels may be as long as a request, and there may be many of both. */
function* findingBudgets({ store, target }: RestRequest, pod: JsonObject): Work<JsonObject[]> {
  const { labels } = metaOf(pod);
  const found: JsonObject[] = [];
  for (const { value } of store.list({ prefix: `/policy/poddisruptionbudgets/${target.namespace}/` }).entries) {
    const selector = memberAt(value, ["spec", "selector"]);
    if (!isJsonObject(selector)) continue;
    if (matchesLabels(yield* readingLabelSelector(selector as LabelSelectorObject), labels)) found.push(value);
    yield;
  }
  return found;
}

function isReady(pod: JsonObject): boolean {
  const conditions = memberAt(pod, ["status", "conditions"]);
  const list = Array.isArray(conditions) ? conditions.filter(isJsonObject) : [];
  return list.some((one) => one["type"] === "Ready" && one["status"] === "True");
}

/** Pods that run and are not ready may be evicted when the budget is met without them, or always where the budget says so. */
function isUnhealthyAndAllowed(pod: JsonObject, budget: JsonObject): boolean {
  if (isReady(pod)) return false;
  if (stringAt(budget, ["spec", "unhealthyPodEvictionPolicy"]) === "AlwaysAllow") return true;
  const [current, desired] = ["currentHealthy", "desiredHealthy"].map((name) => numberAt(budget, ["status", name]));
  return (desired ?? 0) > 0 && (current ?? 0) >= (desired ?? 0);
}

/** Evictions that the controller of a budget has not confirmed: with more than these, no further one is allowed. */
const maxDisruptedPods = 2000;

/** The budget after one more disruption. Throws 429 when none is allowed. */
function withDisruption(budget: JsonObject, pod: string, now: string): JsonObject {
  const { name = "", generation = 0 } = metaOf(budget);
  const status = objectAt(budget, ["status"]);
  const observedGeneration = numberAt(status, ["observedGeneration"]);
  if (observedGeneration < generation) {
    throw refusedBy(`The disruption budget ${name} is still being processed by the server.`, 10);
  }
  const allowed = numberAt(status, ["disruptionsAllowed"]);
  if (allowed < 0) throw forbidden(budgetGroup, name, "pdb disruptions allowed is negative");
  const disrupted = objectAt(status, ["disruptedPods"]);
  if (Object.keys(disrupted).length > maxDisruptedPods) {
    const why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
    throw forbidden(budgetGroup, name, why);
  }
  const conditions = objectsAt(status, ["conditions"]);
  if (allowed === 0) throw refusedBy(`The disruption budget ${name} ${exhaustedText(status, conditions)}`, 0);
  const next = { ...status, disruptionsAllowed: allowed - 1, disruptedPods: { ...disrupted, [pod]: now } };
  if (allowed > 1) return { ...budget, status: next };
  const reason = { type: disruptionAllowed, status: "False", reason: "InsufficientPods", message: "" };
  return {
    ...budget,
    status: { ...next, conditions: withCondition(conditions, { ...reason, observedGeneration }, now) },
  };
}

const disruptionAllowed = "DisruptionAllowed";

/** Why a budget without disruptions left has none. After a failed sync its counts are not reliable. */
function exhaustedText(status: JsonObject, conditions: readonly JsonObject[]): string {
  const refused = "does not allow evicting pods currently";
  const condition = conditions.find(({ type }) => type === disruptionAllowed) ?? {};
  const message = condition["status"] === "False" ? stringAt(condition, ["message"]) : "";
  const reason = stringAt(condition, ["reason"]);
  if (message !== "" && reason === "SyncFailed") return `${refused} because it failed sync: ${message}`;
  const [needed, current] = [numberAt(status, ["desiredHealthy"]), numberAt(status, ["currentHealthy"])];
  if (current <= needed) return `needs ${needed} healthy pods and has ${current} currently`;
  return message === "" ? refused : `${refused} (${reason}): ${message}`;
}

function refusedBy(message: string, retryAfterSeconds: number): StatusError {
  const { status } = tooManyRequests(violation, retryAfterSeconds);
  const causes = [{ reason: "DisruptionBudget", message }];
  return new StatusError({ ...status, details: { ...status.details, causes } });
}
