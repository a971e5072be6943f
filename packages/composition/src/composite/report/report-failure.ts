// SPDX-License-Identifier: Apache-2.0
import type { ControllerClient, ReconcileError } from "@purlin/kube-controller";
import { isConflict, isInvalid, textOf } from "@purlin/kube-objects/errors";
import {
  isDeleted,
  type KubeObject,
  memberAt,
  parseApiVersion,
  type TypeRef,
  textAt,
} from "@purlin/kube-objects/object";
import { deleting, reconcileError } from "../../composite-resource/constants.ts";
import { claimRefOf } from "../../composite-resource/crossplane-fields.ts";
import type { CompositeContext } from "../context.ts";
import {
  type ComposeError,
  type FatalResult,
  isComposedResourceError,
  isComposeError,
  isFatalResult,
  type PipelineEvent,
} from "../run/step-results.ts";
import { type Outcome, writeOutcome } from "./status-baseline.ts";

/** Reports a failed reconcile in the Synced condition; its event has been emitted. */
export async function reportFailure(error: ReconcileError, context: CompositeContext): Promise<void> {
  if (isComposeError(error)) return reportComposeError(error, context);
  const conditions = isDeleted(context.stored.object) ? [deleting] : [];
  await writeOutcome(context, { conditions: [...conditions, reconcileError(error.message)] });
}

/** Composing failed: the conditions that functions would have set are not known. */
async function reportComposeError(
  { failed: cause, reason, message }: ComposeError,
  context: CompositeContext,
): Promise<void> {
  const fatal = isFatalResult(cause) ? cause.result : undefined;
  const text = await conditionText(cause, message, context);
  if (fatal !== undefined) await emitFatal(fatal, reason, context);
  await writeFailure(context, {
    conditions: [reconcileError(text)],
    pipeline: fatal?.conditions ?? [],
    undetermined: true,
    functionRevisions: context.settings.functionRevisions ? fatal?.functionRevisions : undefined,
  });
}

/** The message of the condition. Messages about invalid objects change all the time; a status must not change with them. */
async function conditionText(cause: unknown, message: string, context: CompositeContext): Promise<string> {
  if (isInvalid(cause)) return "cannot compose resources: some resources were invalid, check events";
  if (!isComposedResourceError(cause)) return message;
  const denied = await diagnoseAccess(cause.resource, context.deps.client, context.statusSignal);
  if (denied === undefined) return message;
  context.emit({ type: "Warning", reason: "RoleBasedAccessControl", message: denied });
  return `[${message}, ${denied}]`;
}

async function emitFatal(fatal: FatalResult, reason: string, context: CompositeContext): Promise<void> {
  const claim = fatal.forClaim ? await readClaim(context) : undefined;
  if (claim !== undefined) context.events.event(claim, { type: "Warning", reason, message: fatal.message });
  await emitPipelineEvents(fatal.events, context);
}

/** A status that the API server refuses because of conditions of functions is written without them. */
async function writeFailure(context: CompositeContext, outcome: Outcome): Promise<void> {
  try {
    await writeOutcome(context, outcome);
  } catch (error) {
    const { pipeline = [], ...own } = outcome;
    if (pipeline.length === 0 || isConflict(error)) throw error;
    const { name } = context.stored.object.metadata;
    context.deps.log.debug("cannot report a failed reconcile", { name, error: textOf(error) });
    await writeOutcome(context, own);
  }
}

const verbs = ["get", "list", "watch", "create", "update", "patch", "delete"] as const;

/** A kind in a namespace that could not be managed. */
type Managed = TypeRef & { readonly namespace?: string | undefined };

/**
 * Asks the API server whether the control plane may manage a kind. Resolves to the denied verbs in words; undefined when nothing is
 * denied or the review fails: a diagnosis never hides the error it explains.
 */
export async function diagnoseAccess(
  resource: Managed,
  client: ControllerClient,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const { resource: plural, namespaced } = await client.mapper.mapping(resource, signal);
    const { group, version } = parseApiVersion(resource.apiVersion);
    const namespace = namespaced ? resource.namespace : undefined;
    const asked = { group, version, resource: plural, ...(namespace ? { namespace } : {}) };
    if (await isAllowed("*", asked, { client, signal })) return undefined;
    const answers = await Promise.all(verbs.map((verb) => isAllowed(verb, asked, { client, signal })));
    const denied = verbs.filter((_, index) => !answers[index]);
    if (denied.length === 0) return undefined;
    const what = group === "" ? `${plural}/${version}` : `${plural}.${group}/${version}`;
    const where = namespace ? ` in namespace ${namespace}` : "";
    return `${await ownName(client, signal)} is not allowed to [${denied.join(", ")}] resource ${what}${where}`;
  } catch {
    return undefined;
  }
}

type Attributes = Readonly<Record<string, string>>;

async function isAllowed(
  verb: string,
  attributes: Attributes,
  { client, signal }: { readonly client: ControllerClient; readonly signal: AbortSignal },
): Promise<boolean> {
  const review = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    metadata: {},
    spec: { resourceAttributes: { ...attributes, verb } },
  };
  return memberAt(await client.create(review, { signal }), ["status", "allowed"]) === true;
}

/** The user name of the control plane at the API server. */
async function ownName(client: ControllerClient, signal: AbortSignal): Promise<string> {
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview", metadata: {} };
  const unknown = "the control plane";
  const answer = await client.create(review, { signal }).catch(() => undefined);
  return (answer && textAt(answer, ["status", "userInfo", "username"])) ?? unknown;
}

/** Emits the events of a pipeline on the XR and, where they are meant for it, on its claim. */
export async function emitPipelineEvents(all: readonly PipelineEvent[], context: CompositeContext): Promise<void> {
  const events = boundedEvents(all, context.settings.maxEvents);
  const claim = events.some(({ forClaim }) => forClaim) ? await readClaim(context) : undefined;
  for (const { type, reason, message, detail, forClaim } of events) {
    context.emit({ type, reason, message: `${detail}${message}` });
    if (forClaim && claim !== undefined) context.events.event(claim, { type, reason, message });
  }
}

/** The claim of the XR. A claim that cannot be read gets no event; the reconcile does not fail. */
async function readClaim({ deps, stored, statusSignal }: CompositeContext): Promise<KubeObject | undefined> {
  const { client, kind, log } = deps;
  const ref = claimRefOf(stored.object, kind.schema);
  if (ref === undefined) return undefined;
  try {
    return await client.get(ref, ref, { signal: statusSignal });
  } catch (error) {
    const { name } = stored.object.metadata;
    log.debug("cannot read the claim of a composite resource", { name, error: textOf(error) });
    return undefined;
  }
}

/**
 * The events of a reconcile, no more than `most` of a type. Functions may return thousands of results, and an API server keeps
 * few events of one object. Duplicates are merged, and the last event has the number of those left out.
 */
export function boundedEvents(events: readonly PipelineEvent[], most: number): readonly PipelineEvent[] {
  if (events.length <= most) return events;
  return (["Normal", "Warning"] as const).flatMap((type) =>
    boundedOf(
      events.filter((event) => event.type === type),
      most,
    ),
  );
}

function boundedOf(events: readonly PipelineEvent[], most: number): readonly PipelineEvent[] {
  if (events.length <= most) return events;
  const distinct = new Map<string, PipelineEvent>();
  for (const event of events) {
    const { reason, message, detail, forClaim } = event;
    distinct.set([reason, detail, message, forClaim].join("\n"), event);
    if (distinct.size > most) break;
  }
  if (distinct.size <= most) return [...distinct.values()];
  const shown = [...distinct.values()].slice(0, most - 1);
  return [...shown, leftOut(events, most)];
}

function leftOut(events: readonly PipelineEvent[], most: number): PipelineEvent {
  const { type = "Normal" } = events[0] ?? {};
  const message = `${events.length - (most - 1)} more events of this reconcile are left out`;
  return { type, reason: "ComposeResources", message, forClaim: events.some(({ forClaim }) => forClaim), detail: "" };
}
