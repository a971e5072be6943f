// SPDX-License-Identifier: Apache-2.0
import { timestamp } from "@purlin/kube-objects/apply";
import {
  badRequest,
  forbidden,
  isConflict,
  notFound,
  StatusError,
  tooManyRequests,
  unclassifiedError,
} from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, numberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { type LabelSelectorObject, labelSelectorOf, matchesLabels } from "@purlin/kube-objects/selector";
import { isDeleting, metaOf } from "../objects/object-meta.ts";
import { objectKey } from "../registry/resource-type.ts";
import type { CompleteResponse } from "../request/api-request.ts";
import { documentPayload } from "../request/payload.ts";
import { admitUnstored } from "../rest/admitted-write.ts";
import { deleteEvicted } from "../rest/delete.ts";
import { deleteOptionsOf } from "../rest/delete-options.ts";
import { negotiateForm } from "../rest/object-response.ts";
import { readRequestBody } from "../rest/request-body.ts";
import type { SpecialResource } from "../rest/resources.ts";
import type { RestRequest } from "../rest/rest-context.ts";
import { bindingResource } from "./binding-resource.ts";

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
  const { request, store, target, type } = rest;
  const { mediaType, pretty } = negotiateForm(request);
  const body = await readRequestBody(request, { takesProtobuf: true });
  const eviction = isJsonObject(body?.value) ? body.value : {};
  const { name = "" } = metaOf(eviction);
  if (name !== target.name) throw badRequest("name in URL does not match name in Eviction object");
  const pod = store.get(objectKey(type, target.namespace, name))?.value;
  if (pod === undefined) throw notFound(type, name);
  const options = objectAt(eviction, ["deleteOptions"]);
  const dryRun = request.query.has("dryRun") || memberAt(options, ["dryRun"]) !== undefined;
  await admitUnstored(rest, { ...eviction, apiVersion: "policy/v1", kind: "Eviction" }, dryRun);
  if (!ignoresBudget(pod)) await takeFromBudget(rest, client, { pod, dryRun });
  // The eviction was admitted, not the deletion: webhooks for deletions are not called, and the user stays the one who evicts.
  await deleteEvicted(rest, { ...deleteOptionsOf(options), dryRun });
  const success: JsonObject = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 };
  return { kind: "complete", code: 201, payload: documentPayload(success, { mediaType, pretty }) };
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

async function takeFromBudget(rest: RestRequest, client: Sender, { pod, dryRun }: Evicted): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const [budget, ...others] = budgetsOf(rest, pod);
    if (budget === undefined) return;
    if (others.length > 0) {
      const why = "which the eviction subresource does not support.";
      throw unclassifiedError(`This pod has more than one PodDisruptionBudget, ${why}`);
    }
    if (isUnhealthyAndAllowed(pod, budget)) return;
    const next = withDisruption(budget, metaOf(pod).name ?? "", timestamp(rest.now()));
    if (dryRun) return;
    const { namespace = "", name = "" } = metaOf(budget);
    try {
      await client.send("PUT", `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/${name}/status`, {
        body: next,
      });
      return;
    } catch (error) {
      if (!isConflict(error) || attempt === conflictRetries) throw error;
    }
  }
}

function budgetsOf({ store, target }: RestRequest, pod: JsonObject): JsonObject[] {
  const { labels = {} } = metaOf(pod);
  return store
    .list({ prefix: `/policy/poddisruptionbudgets/${target.namespace}/` })
    .entries.map(({ value }) => value)
    .filter((budget) => {
      const selector = memberAt(budget, ["spec", "selector"]);
      return isJsonObject(selector) && matchesLabels(labelSelectorOf(selector as LabelSelectorObject), labels);
    });
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

/** The budget after one more disruption. Throws 429 when none is allowed. */
function withDisruption(budget: JsonObject, pod: string, now: string): JsonObject {
  const { name = "", generation = 0 } = metaOf(budget);
  const status = objectAt(budget, ["status"]);
  if (numberAt(status, ["observedGeneration"]) < generation) {
    throw refusedBy(`The disruption budget ${name} is still being processed by the server.`, 10);
  }
  const allowed = numberAt(status, ["disruptionsAllowed"]);
  if (allowed < 0) throw forbidden(budgetGroup, name, "pdb disruptions allowed is negative");
  if (allowed === 0) {
    const [needed, current] = [numberAt(status, ["desiredHealthy"]), numberAt(status, ["currentHealthy"])];
    throw refusedBy(
      current <= needed
        ? `The disruption budget ${name} needs ${needed} healthy pods and has ${current} currently`
        : `The disruption budget ${name} does not allow evicting pods currently`,
      0,
    );
  }
  const disruptedPods = { ...objectAt(status, ["disruptedPods"]), [pod]: now };
  return { ...budget, status: { ...status, disruptionsAllowed: allowed - 1, disruptedPods } };
}

function refusedBy(message: string, retryAfterSeconds: number): StatusError {
  const { status } = tooManyRequests(violation, retryAfterSeconds);
  const causes = [{ reason: "DisruptionBudget", message }];
  return new StatusError({ ...status, details: { ...status.details, causes } });
}
