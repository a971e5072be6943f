// SPDX-License-Identifier: Apache-2.0
// Where a webhook is: the same rules for those of admission and those of conversion.
import { parseUrl, UrlSyntaxError } from "@purlin/cel";
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
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { dns1035LabelProblems, dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { memberAt, optionalObjectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { isPort, portRange } from "../objects/checks.ts";

/** What is wrong with where the server would call: an address or a Service, and exactly one of them. */
export function webhookTargetErrors(config: JsonObject, path: string): FieldError[] {
  const [url, service] = [config["url"], config["service"]];
  if ((typeof url === "string") === isJsonObject(service)) {
    return [requiredValue(path, "exactly one of url or service is required")];
  }
  return isJsonObject(service) ? serviceErrors(service, `${path}.service`) : urlErrors(String(url), `${path}.url`);
}

const form = "; desired format: https://host[/path]";

function urlErrors(text: string, path: string): FieldError[] {
  try {
    const { scheme, host, user, fragment, rawQuery } = parseUrl(text);
    return [
      ...(scheme === "https" ? [] : [invalidValue(path, scheme, `'https' is the only allowed URL scheme${form}`)]),
      ...(host === "" ? [invalidValue(path, host, `host must be specified${form}`)] : []),
      ...(user === undefined ? [] : [invalidValue(path, user, "user information is not permitted in the URL")]),
      ...(fragment === "" ? [] : [invalidValue(path, fragment, "fragments are not permitted in the URL")]),
      ...(rawQuery === "" ? [] : [invalidValue(path, rawQuery, "query parameters are not permitted in the URL")]),
    ];
  } catch (problem) {
    if (!(problem instanceof UrlSyntaxError)) throw problem;
    return [requiredValue(path, `url must be a valid URL: ${problem.message}${form}`)];
  }
}

function serviceErrors(service: JsonObject, path: string): FieldError[] {
  const port = memberAt(service, ["port"]);
  return [
    // The reference exchanges the two: it reports a missing namespace at the name, and a missing name at the namespace.
    ...(stringAt(service, ["namespace"]) === "" ? [requiredValue(`${path}.name`)] : []),
    ...(stringAt(service, ["name"]) === "" ? [requiredValue(`${path}.namespace`)] : []),
    ...(port === undefined || isPort(port)
      ? []
      : [invalidValue(`${path}.port`, port, `port is not valid: ${portRange}`)]),
    ...pathProblems(stringAt(service, ["path"])).map((problem) =>
      invalidValue(`${path}.path`, stringAt(service, ["path"]), problem),
    ),
  ];
}

/** Each part of the path of a request is to be a name; a slash at the end is nothing. */
function pathProblems(text: string): string[] {
  if (text === "" || text === "/") return [];
  if (text === "//") return ["segment[0] may not be empty"];
  // The reference skips one byte: of a longer character, the rest of it stays.
  const rest = text.codePointAt(0) === undefined || text.charCodeAt(0) < 0x80 ? text.slice(1) : text;
  const parts = rest.replace(/\/$/, "").split("/");
  return [
    ...(text.startsWith("/") ? [] : ["must start with a '/'"]),
    ...parts.flatMap((part, index) =>
      part === ""
        ? [`segment[${index}] may not be empty`]
        : dns1123SubdomainProblems(part).map((problem) => `segment[${index}]: ${problem}`),
    ),
  ];
}

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
