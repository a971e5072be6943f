// SPDX-License-Identifier: Apache-2.0
// Admission webhooks: mutating ones are called one after the other, validating ones at the same time.
import { inTurns, type Work } from "@purlin/base";
import { badRequest, internalError, StatusError } from "@purlin/kube-objects/errors";
import { goQuote, type JsonObject, type JsonValue, jsonEqual, printJson } from "@purlin/kube-objects/json";
import type { AdmissionMetrics, WebhookOutcome } from "../metrics/admission-metrics.ts";
import type { ResourceType } from "../registry/registry.ts";
import type { Store } from "../store/store.ts";
import { WebhookCallError, type WebhookClient } from "../webhooks/webhook-client.ts";
import type { AdmissionAttributes } from "./admission.ts";
import {
  deniedBy,
  patchOperations,
  type ReviewedWrite,
  type ReviewResponse,
  readReviewResponse,
  reviewBody,
  WebhookDenialError,
} from "./admission-review.ts";
import { type AdmissionWebhook, namespaceSelected, objectSelected } from "./admission-webhook.ts";
import { patchedByWebhook } from "./webhook-patch.ts";

/** What the calls of webhooks depend on. */
export interface DispatchDeps {
  readonly store: Store<JsonObject>;
  readonly client: WebhookClient;
  readonly newUid: () => string;
  readonly metrics: AdmissionMetrics;
  /** An object of one type as an object of another type that shows the same objects. */
  readonly convert: (object: JsonObject, from: ResourceType, to: ResourceType) => Promise<JsonObject>;
  /** Decodes an object that a webhook changed, with defaults. */
  readonly decode: (object: JsonObject, type: ResourceType) => Work<JsonObject>;
  /** Whether the match conditions of a webhook hold. Throws 403 when they cannot be evaluated and the webhook must not be skipped. */
  readonly conditionsHold: (
    hook: AdmissionWebhook,
    write: ReviewedWrite,
    type: WebhookOutcome["type"],
  ) => Promise<boolean>;
}

/** A webhook that the rules select for a class of writes, and the type in which it sees the objects. */
export interface SelectedWebhook {
  readonly hook: AdmissionWebhook;
  readonly type: ResourceType;
  /** Its place among all webhooks of its kind. */
  readonly index: number;
}

/** The webhooks that were called in the first round, and those that a later change makes due again. */
export interface Reinvocation {
  readonly invoked: Set<string>;
  readonly due: Set<string>;
}

/** Records a change of the object: every webhook that was called before it and wants to be called again is due. */
export function requireReinvocation({ invoked, due }: Reinvocation): void {
  for (const id of invoked) due.add(id);
  invoked.clear();
}

/** The round of mutating webhooks: in the second one only those are called that are due again. */
interface Round {
  readonly reinvocation: Reinvocation;
  readonly isSecond: boolean;
}

/** Calls the mutating webhooks. Returns the object after them. */
export async function callMutating(
  hooks: readonly SelectedWebhook[],
  attributes: AdmissionAttributes,
  { deps, reinvocation, isSecond }: Round & { readonly deps: DispatchDeps },
): Promise<JsonObject | undefined> {
  let { object } = attributes;
  for (const selected of hooks) {
    const write = await reviewed(selected, { ...attributes, object }, { ...deps, type: "admit" });
    if (write === undefined || (isSecond && !reinvocation.due.has(selected.hook.id))) continue;
    const at = `round_${isSecond ? 1 : 0}_index_${selected.index}`;
    const called = { deps, type: "admit", operation: attributes.operation } as const;
    const next = await ignoringFailure(selected.hook, {
      run: () => observed(selected.hook, called, () => mutatedBy(selected.hook, write, { deps, at })),
      onIgnored: () => {
        attributes.annotate(`failed-open.mutation.${annotationDomain}/${at}`, selected.hook.name);
        return object;
      },
    });
    if (next !== object && !jsonEqual(next ?? null, object ?? null)) {
      requireReinvocation(reinvocation);
      object = next;
    }
    if (selected.hook.isReinvoked) reinvocation.invoked.add(selected.hook.id);
  }
  return object;
}

/** The object after a webhook. The audit log says whether it has changed, also when the call failed. */
async function mutatedBy(
  hook: AdmissionWebhook,
  write: ReviewedWrite,
  { deps, at }: { readonly deps: DispatchDeps; readonly at: string },
): Promise<JsonObject | undefined> {
  const { attributes } = write;
  const { configuration, name: webhook } = hook;
  let isMutated = false;
  try {
    const operations = patchOperations(await call(hook, write, { deps, isMutating: true }));
    if (operations.length === 0) return attributes.object;
    if (write.object === undefined) {
      const why = "attempted to modify the object, which is not supported for this operation";
      throw internalError(`admission webhook ${goQuote(webhook)} ${why}`);
    }
    const decode = (object: JsonObject): Work<JsonObject> => deps.decode(object, write.type);
    const patched = await inTurns(patchedByWebhook(write.object, operations, decode));
    isMutated = !jsonEqual(patched, write.object);
    const patch = printJson({ configuration, webhook, patch: operations, patchType: "JSONPatch" });
    if (isMutated) attributes.annotate(`patch.${annotationDomain}/${at}`, patch, { isBody: true });
    return write.type === attributes.type
      ? patched
      : await converted(patched, { deps, from: write.type, to: attributes.type });
  } finally {
    const mutation = printJson({ configuration, webhook, mutated: isMutated });
    attributes.annotate(`mutation.${annotationDomain}/${at}`, mutation);
  }
}

const annotationDomain = "webhook.admission.k8s.io";

/** Calls the validating webhooks, and waits for all of them. Throws the error of the first that failed. */
export async function callValidating(
  hooks: readonly SelectedWebhook[],
  attributes: AdmissionAttributes,
  deps: DispatchDeps,
): Promise<void> {
  const errors: unknown[] = [];
  const called = { deps, type: "validating", operation: attributes.operation } as const;
  const writes = await Promise.all(
    hooks.map((selected) => reviewed(selected, attributes, { ...deps, type: "validating" })),
  );
  await Promise.all(
    hooks.map(async ({ hook, index: place }, index) => {
      const write = writes[index];
      if (write === undefined) return;
      try {
        await ignoringFailure<unknown>(hook, {
          run: () => observed(hook, called, () => call(hook, write, { deps, isMutating: false })),
          onIgnored: () =>
            attributes.annotate(`failed-open.validating.${annotationDomain}/round_0_index_${place}`, hook.name),
        });
      } catch (error) {
        errors.push(error);
      }
    }),
  );
  if (errors.length > 0) throw errors[0];
}

/** The write as a webhook sees it; undefined when the webhook does not select it. */
async function reviewed(
  { hook, type }: SelectedWebhook,
  attributes: AdmissionAttributes,
  deps: DispatchDeps & Pick<WebhookOutcome, "type">,
): Promise<ReviewedWrite | undefined> {
  if (!namespaceSelected(hook.namespaceSelector, attributes, deps.store)) return undefined;
  if (!objectSelected(hook.objectSelector, attributes)) return undefined;
  const { object, old } = attributes;
  const shown = async (one: JsonObject | undefined): Promise<JsonObject | undefined> =>
    one === undefined || type === attributes.type ? one : converted(one, { deps, from: attributes.type, to: type });
  const write = { attributes, type, object: await shown(object), old: await shown(old) };
  return (await deps.conditionsHold(hook, write, deps.type)) ? write : undefined;
}

interface Conversion {
  readonly deps: DispatchDeps;
  readonly from: ResourceType;
  readonly to: ResourceType;
}

/** The object in the version of a webhook. That it cannot be converted is an error of the server. */
async function converted(object: JsonObject, { deps, from, to }: Conversion): Promise<JsonObject> {
  try {
    return await deps.convert(object, from, to);
  } catch (error) {
    throw internalError(error instanceof Error ? error.message : String(error));
  }
}

interface Calling {
  readonly deps: DispatchDeps;
  readonly isMutating: boolean;
}

/** The response of a webhook that allows the write. Throws when it denies the write, or cannot be called. */
async function call(
  hook: AdmissionWebhook,
  write: ReviewedWrite,
  { deps, isMutating }: Calling,
): Promise<ReviewResponse> {
  const { attributes } = write;
  if (attributes.dryRun && !hook.supportsDryRun) {
    throw badRequest(`admission webhook ${goQuote(hook.name)} does not support dry run`);
  }
  const uid = deps.newUid();
  const review = await posted(hook, deps, {
    body: reviewBody(uid, hook.reviewVersion, write),
    signal: attributes.signal,
  });
  const response = readReviewResponse(review, hook, { uid, isMutating });
  for (const [key, value] of Object.entries(response.auditAnnotations)) {
    attributes.annotate(`${hook.name}/${key}`, value);
  }
  for (const warning of new Set(response.warnings)) attributes.warn(warning);
  if (!response.allowed) throw deniedBy(hook.name, response.result);
  return response;
}

async function posted(
  { config, timeoutMs }: AdmissionWebhook,
  { client }: DispatchDeps,
  sent: { readonly body: string; readonly signal: AbortSignal },
): Promise<JsonValue> {
  try {
    return await client.post({ ...sent, config, timeoutMs, userAgent: "kube-apiserver-admission" });
  } catch (error) {
    if (!(error instanceof WebhookCallError)) throw error;
    const what = error.message.startsWith("unable to load root certificates")
      ? "could not get REST client"
      : "failed to call webhook";
    const code = what === "failed to call webhook" ? error.code : 400;
    throw new WebhookCallError(`${what}: ${error.message}`, { cause: error, code });
  }
}

interface ObservedCall {
  readonly deps: DispatchDeps;
  readonly type: WebhookOutcome["type"];
  readonly operation: string;
}

/** Calls a webhook and observes the outcome. */
async function observed<T>(
  hook: AdmissionWebhook,
  { deps, type, operation }: ObservedCall,
  run: () => Promise<T>,
): Promise<T> {
  const start = performance.now();
  const observe = (outcome: Pick<WebhookOutcome, "code" | "refusal" | "isFailedOpen">): void =>
    deps.metrics.webhook({ name: hook.name, type, operation, seconds: (performance.now() - start) / 1000, ...outcome });
  try {
    const result = await run();
    observe({ code: 200 });
    return result;
  } catch (error) {
    if (error instanceof WebhookDenialError) observe({ code: error.code, refusal: "no_error" });
    else if (!(error instanceof WebhookCallError)) observe({ code: 0, refusal: "apiserver_internal_error" });
    else if (hook.ignoresFailure) observe({ code: error.code, isFailedOpen: true });
    else observe({ code: error.code, refusal: "calling_webhook_error" });
    throw error;
  }
}

interface IgnorableCall<T> {
  readonly run: () => Promise<T>;
  /** Called when the call failed and the webhook allows that. */
  readonly onIgnored: () => T;
}

/** The outcome of a call that may fail if the webhook allows that. A denial is not a failure. */
async function ignoringFailure<T>(hook: AdmissionWebhook, { run, onIgnored }: IgnorableCall<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof StatusError || !(error instanceof WebhookCallError)) throw error;
    if (hook.ignoresFailure) return onIgnored();
    throw internalError(`failed calling webhook ${goQuote(hook.name)}: ${error.message}`);
  }
}
