// SPDX-License-Identifier: Apache-2.0

import { wrapError } from "@purlin/kube-objects/errors";
import { type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { annotationOf, type ConditionText, type KubeObject, textAt } from "@purlin/kube-objects/object";
import { annotations, fieldManagers } from "../composite-resource/constants.ts";
import { withCondition } from "./claim-status.ts";
import type { ClaimPorts, ClaimSettings } from "./ports.ts";

/** One look at a claim. */
export interface ClaimPass {
  readonly ports: ClaimPorts;
  readonly settings: ClaimSettings;
  /** The time that goes into conditions. */
  readonly time: string;
  readonly signal: AbortSignal;
  /** Of the events of this look. */
  readonly annotations: Readonly<Record<string, string>>;
  /** The claim as it is stored, which changes on the way. */
  stored: KubeObject;
}

/** The claim with conditions that its controller sets. */
export function tellIn(pass: ClaimPass, claim: KubeObject, ...texts: readonly ConditionText[]): KubeObject {
  return texts.reduce((told, text) => withCondition(told, text, pass.time), claim);
}

/** What events say about a claim as it was when somebody began to look at it. */
export function eventAnnotations(claim: KubeObject): Readonly<Record<string, string>> {
  const composite = textAt(claim, ["spec", "resourceRef", "name"]);
  return {
    "external-name": annotationOf(claim, annotations.externalName) ?? "",
    ...(composite !== undefined && { "composite-name": composite }),
  };
}

/** Tells whoever looks at the claim. */
export function tellEvent(
  { ports, stored, annotations: said }: ClaimPass,
  event: { readonly type?: "Normal" | "Warning"; readonly reason: string; readonly message: string },
): void {
  ports.events.event(stored, { type: "Normal", annotations: said, ...event });
}

/** Stores the status of a claim unless it is what is stored. */
export async function writeStatus(pass: ClaimPass, claim: KubeObject): Promise<void> {
  const { ports, stored, signal } = pass;
  const [had, has] = [stored["status"] ?? null, claim["status"] ?? null] as readonly [JsonValue, JsonValue];
  if (jsonEqual(had, has)) return;
  try {
    const options = { subresource: "status", fieldManager: fieldManagers.update, signal };
    pass.stored = await ports.client.update(claim, options);
  } catch (error) {
    throw wrapError("cannot update claim status", error);
  }
}
