// SPDX-License-Identifier: Apache-2.0
// What can be stored and is not acted on: it is accepted, because programs register webhooks when they start and do not run without
// that, and every writer is warned.

import type { JsonObject } from "@purlin/kube-objects/json";
import { stringAt } from "@purlin/kube-objects/object";
import { listAt } from "./pods/checks.ts";

/** The warning about a configuration of admission webhooks. */
export function webhookWarnings(configuration: JsonObject): string[] {
  if (listAt(configuration, "webhooks").length === 0) return [];
  return ["webhooks: this API server does not call admission webhooks: the configuration is stored and has no effect"];
}

/** What is said about a CRD whose objects a webhook is to convert. */
export const conversionMessage =
  "this API server does not call conversion webhooks: an object is served in each version with the fields it was stored with; use the strategy None, or serve one version";

/** Whether the objects of a CRD are to be converted by a webhook. */
export function wantsConversion(crd: JsonObject): boolean {
  return stringAt(crd, ["spec", "conversion", "strategy"]) === "Webhook";
}

/** The warning about a conversion webhook. */
export function conversionWarnings(crd: JsonObject): string[] {
  return wantsConversion(crd) ? [`spec.conversion.strategy: Webhook: ${conversionMessage}`] : [];
}
