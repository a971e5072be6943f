// SPDX-License-Identifier: Apache-2.0
import {
  childPath,
  type FieldError,
  type FieldPath,
  forbiddenValue,
  indexPath,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1035LabelProblems } from "@purlin/kube-objects/metadata";
import { optionalObjectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { webhookTargetErrors } from "./webhook-target.ts";

const strategies = ["None", "Webhook"];
const reviewVersions = ["v1", "v1beta1"];

/** What is wrong with a CRD's conversion. Paths are those of the reference's own form, in which the webhook is unfolded. */
export function* conversionProblems(
  conversion: JsonObject | undefined,
  path: FieldPath,
  { preserveUnknownFields }: { readonly preserveUnknownFields: boolean },
): Generator<FieldError> {
  if (conversion === undefined) return;
  const strategy = stringAt(conversion, ["strategy"]);
  if (preserveUnknownFields && strategy !== "None") {
    yield invalidValue(childPath(path, "strategy"), strategy, "must be None if spec.preserveUnknownFields is true");
  }
  if (strategy === "") yield requiredValue(childPath(path, "strategy"));
  else if (!strategies.includes(strategy)) yield unsupportedValue(childPath(path, "strategy"), strategy, strategies);
  const webhook = optionalObjectAt(conversion, ["webhook"]);
  const clientConfig = webhook && optionalObjectAt(webhook, ["clientConfig"]);
  const versions = webhook === undefined ? [] : textsAt(webhook, ["conversionReviewVersions"]);
  const configPath = childPath(path, "webhookClientConfig");
  const versionsPath = childPath(path, "conversionReviewVersions");
  if (strategy !== "Webhook") {
    const detail = "should not be set when strategy is not set to Webhook";
    if (clientConfig !== undefined) yield forbiddenValue(configPath, detail);
    if (versions.length > 0) yield forbiddenValue(versionsPath, detail);
    return;
  }
  if (clientConfig === undefined) yield requiredValue(configPath, "required when strategy is set to Webhook");
  else yield* webhookTargetErrors(clientConfig, configPath);
  yield* reviewVersionProblems(versions, versionsPath);
}

function* reviewVersionProblems(versions: readonly string[], path: FieldPath): Generator<FieldError> {
  if (versions.length === 0) {
    yield requiredValue(path);
    return;
  }
  const seen = new Set<string>();
  for (const [index, version] of versions.entries()) {
    const at = indexPath(path, index);
    if (seen.has(version)) yield invalidValue(at, version, "duplicate version");
    else for (const problem of dns1035LabelProblems(version)) yield invalidValue(at, version, problem);
    seen.add(version);
  }
  if (!versions.some((version) => reviewVersions.includes(version))) {
    yield invalidValue(path, [...versions], `must include at least one of ${reviewVersions.join(", ")}`);
  }
}
