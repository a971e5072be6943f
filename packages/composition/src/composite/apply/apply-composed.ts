// SPDX-License-Identifier: Apache-2.0

import type { KubeObject } from "@purlin/kube-client/objects";
import type { ControllerClient } from "@purlin/kube-controller";
import { textOf } from "@purlin/kube-controller/object";
import { isInvalid, isNotFound } from "@purlin/kube-objects";
import { composedFieldManager } from "../../composite-resource/field-manager.ts";
import { type Observed, sameKind } from "../observe/observe.ts";
import { ComposedResourceError } from "../run/compose-error.ts";
import type { PipelineEvent } from "../run/pipeline-outcome.ts";
import type { DesiredResource } from "./desired-resources.ts";
import { forEachLimited } from "./for-each-limited.ts";
import { type KnownComposite, requireAlive } from "./require-alive.ts";

/** A composed resource after it was applied. */
export interface ComposedResource {
  readonly name: string;
  readonly ready: boolean;
  /** False when the API server refused it as invalid. */
  readonly synced: boolean;
}

/** How applying went. */
export interface AppliedResources {
  readonly resources: readonly ComposedResource[];
  readonly events: readonly PipelineEvent[];
}

const atOnce = 8;

/**
 * Applies the composed resources. One that is invalid is reported and the others go on; any other failure ends it, with
 * those not yet begun left alone.
 */
export async function applyComposed(
  desired: readonly DesiredResource[],
  { resources: observed }: Pick<Observed, "resources">,
  composite: KnownComposite,
  { client, signal }: { readonly client: ControllerClient; readonly signal: AbortSignal },
): Promise<AppliedResources> {
  const options = { fieldManager: composedFieldManager(composite.read), force: true, signal };
  const refused = new Map<string, PipelineEvent>();
  await forEachLimited(desired, atOnce, async ({ name, object }) => {
    const text = `cannot apply composed resource "${name}"`;
    const known = sameKind(observed.get(name)?.object, object);
    const beforeSend = (current: KubeObject | undefined): Promise<void> =>
      requireAlive(composite, { observed: known, current }, client, signal);
    try {
      await client.applyIfChanged(object, { ...options, observed: known, beforeSend });
    } catch (error) {
      if (!isInvalid(error)) throw failed(text, object, await explained(object, error, client, signal));
      refused.set(name, warn(`${text}: ${textOf(error)}`));
    }
  });
  const resources = desired.map(({ name, ready }) => ({ name, ready, synced: !refused.has(name) }));
  return { resources, events: resources.flatMap(({ name }) => refused.get(name) ?? []) };
}

/** To a path without the namespace that its kind has the server answers that it is not there, which helps nobody. */
async function explained(
  object: KubeObject,
  error: unknown,
  { mapper }: ControllerClient,
  signal: AbortSignal,
): Promise<unknown> {
  if (object.metadata.namespace || !isNotFound(error)) return error;
  const mapping = await mapper.mapping(object, signal).catch(() => undefined);
  if (!mapping?.namespaced) return error;
  const what = `a ${object.kind} lives in a namespace, and the function names none`;
  return new Error(`${what}: set its metadata.namespace`, { cause: error });
}

function failed(text: string, { apiVersion, kind, metadata: { namespace } }: KubeObject, error: unknown): Error {
  return new ComposedResourceError(text, { apiVersion, kind, namespace }, error);
}

function warn(message: string): PipelineEvent {
  return { type: "Warning", reason: "ComposeResources", message, forClaim: false, detail: "" };
}
