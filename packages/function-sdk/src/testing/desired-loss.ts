// SPDX-License-Identifier: Apache-2.0
import {
  isJsonObject,
  type JsonValue,
  type RunFunctionRequest,
  type RunFunctionResponse,
} from "@purlin/function-protocol";

/** What a request's desired state has and a response's lacks: resources by name, and fields of the composite's status. */
export function findLoss(req: RunFunctionRequest, rsp: RunFunctionResponse): string[] {
  const kept = rsp.desired?.resources;
  const names = [...(req.desired?.resources.keys() ?? [])].filter((name) => !kept?.has(name));
  const before = req.desired?.composite?.resource?.value["status"];
  const after = rsp.desired?.composite?.resource?.value["status"];
  return [...names.map((name) => `resource "${name}"`), ...lostFields(before, after, "status")];
}

/** The paths of members that are gone. A changed value, or one of another kind, is a change and no loss. */
function lostFields(before: JsonValue | undefined, after: JsonValue | undefined, path: string): string[] {
  if (before === undefined) return [];
  if (after === undefined) return [`composite ${path}`];
  if (!isJsonObject(before) || !isJsonObject(after)) return [];
  return Object.entries(before).flatMap(([key, value]) =>
    lostFields(value, Object.hasOwn(after, key) ? after[key] : undefined, `${path}.${key}`),
  );
}
