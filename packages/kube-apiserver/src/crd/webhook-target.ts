// SPDX-License-Identifier: Apache-2.0
// Where a webhook is: the same rules for those of admission and those of conversion.
import { parseUrl, UrlProblem } from "@purlin/cel";
import { type FieldError, invalidValue, requiredValue } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { memberAt, stringAt } from "@purlin/kube-objects/object";
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
    if (!(problem instanceof UrlProblem)) throw problem;
    return [requiredValue(path, `url must be a valid URL: ${problem.message}${form}`)];
  }
}

function serviceErrors(service: JsonObject, path: string): FieldError[] {
  const port = memberAt(service, ["port"]);
  return [
    ...["name", "namespace"].flatMap((name) =>
      stringAt(service, [name]) === "" ? [requiredValue(`${path}.${name}`)] : [],
    ),
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
  const parts = text.slice(1).replace(/\/$/, "").split("/");
  return [
    ...(text.startsWith("/") ? [] : ["must start with a '/'"]),
    ...parts.flatMap((part, index) =>
      part === ""
        ? [`segment[${index}] may not be empty`]
        : dns1123SubdomainProblems(part).map((problem) => `segment[${index}]: ${problem}`),
    ),
  ];
}
