// SPDX-License-Identifier: Apache-2.0
import {
  childPath,
  dns1035LabelProblems,
  type FieldError,
  type FieldPath,
  forbiddenValue,
  indexPath,
  invalidValue,
  type JsonObject,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects";
import { objectAt, textAt, textsAt } from "./crd-spec.ts";

const strategies = ["None", "Webhook"];
const reviewVersions = ["v1", "v1beta1"];

/** What is wrong with a CRD's conversion. Paths are those of the reference's own form, in which the webhook is unfolded. */
export function* conversionProblems(conversion: JsonObject | undefined, path: FieldPath): Generator<FieldError> {
  if (conversion === undefined) return;
  const strategy = textAt(conversion, "strategy");
  if (strategy === "") yield requiredValue(childPath(path, "strategy"));
  else if (!strategies.includes(strategy)) yield unsupportedValue(childPath(path, "strategy"), strategy, strategies);
  const webhook = objectAt(conversion, "webhook");
  const clientConfig = webhook && objectAt(webhook, "clientConfig");
  const versions = webhook === undefined ? [] : textsAt(webhook, "conversionReviewVersions");
  const configPath = childPath(path, "webhookClientConfig");
  const versionsPath = childPath(path, "conversionReviewVersions");
  if (strategy !== "Webhook") {
    const detail = "should not be set when strategy is not set to Webhook";
    if (clientConfig !== undefined) yield forbiddenValue(configPath, detail);
    if (versions.length > 0) yield forbiddenValue(versionsPath, detail);
    return;
  }
  if (clientConfig === undefined) yield requiredValue(configPath, "required when strategy is set to Webhook");
  else yield* clientConfigProblems(clientConfig, configPath);
  yield* reviewVersionProblems(versions, versionsPath);
}

function* clientConfigProblems(config: JsonObject, path: FieldPath): Generator<FieldError> {
  const url = config["url"];
  const service = objectAt(config, "service");
  if ((typeof url === "string") === (service !== undefined)) {
    yield requiredValue(path, "exactly one of url or service is required");
    return;
  }
  if (typeof url === "string") yield* urlProblems(url, childPath(path, "url"));
  if (service !== undefined) yield* serviceProblems(service, childPath(path, "service"));
}

function* urlProblems(text: string, path: FieldPath): Generator<FieldError> {
  const form = "; desired format: https://host[/path]";
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) {
    yield requiredValue(path, `url must be a valid URL: parse ${JSON.stringify(text)}${form}`);
    return;
  }
  if (url.protocol !== "https:") {
    yield invalidValue(path, url.protocol.slice(0, -1), `'https' is the only allowed URL scheme${form}`);
  }
  if (url.hostname === "") yield invalidValue(path, url.hostname, `host must be specified${form}`);
  if (url.username !== "") yield invalidValue(path, url.username, "user information is not permitted in the URL");
  if (url.hash !== "") yield invalidValue(path, url.hash.slice(1), "fragments are not permitted in the URL");
  if (url.search !== "") yield invalidValue(path, url.search.slice(1), "query parameters are not permitted in the URL");
}

function* serviceProblems(service: JsonObject, path: FieldPath): Generator<FieldError> {
  if (textAt(service, "name") === "") yield requiredValue(childPath(path, "name"), "service name is required");
  if (textAt(service, "namespace") === "")
    yield requiredValue(childPath(path, "namespace"), "service namespace is required");
  const port = service["port"];
  if (typeof port === "number" && (port < 1 || port > 65535)) {
    yield invalidValue(childPath(path, "port"), port, "port is not valid: must be between 1 and 65535, inclusive");
  }
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
