// SPDX-License-Identifier: Apache-2.0

import type { Work } from "@purlin/base";
import { invalid, invalidValue, isStatusError, patchNotApplicable } from "@purlin/kube-objects/errors";
import {
  compareUtf8,
  type Fractions,
  goQuote,
  isJsonObject,
  type JsonObject,
  sortedKeys,
} from "@purlin/kube-objects/json";
import { parseApiVersion } from "@purlin/kube-objects/object";
import { patchResultInvalid, strictDecodingText } from "@purlin/kube-objects/patch";
import { requireConvertible } from "@purlin/kube-objects/typed";
import { dedupedOwners, metaOf } from "../objects/object-meta.ts";
import { apiVersionOf, type ResourceType } from "../registry/resource-type.ts";
import type { CompleteResponse } from "../request/api-request.ts";
import type { DecodedObject, Endpoint } from "../strategy/object-strategy.ts";
import { applyObject } from "./apply.ts";
import { applyUpdate } from "./apply-update.ts";
import { decodedObject, mostFindings, noteFindings, shownFindings, withResetMark, withType } from "./decode-object.ts";
import { negotiateForm } from "./object-response.ts";
import { type ChangePatch, readPatchRequest } from "./patch-request.ts";
import type { RestRequest } from "./rest-context.ts";
import { atTarget } from "./update.ts";

/** Changes an object, or a part of it, by a patch. */
export async function patchObject(rest: RestRequest, endpoint: Endpoint): Promise<CompleteResponse> {
  const { request, strategy, type } = rest;
  const form = negotiateForm(request);
  const patch = await readPatchRequest(request, strategy.decoder.strategicMerge?.bind(strategy.decoder));
  if (patch.isApply) return applyObject(rest, { endpoint, patch, form });
  const edit = (current: JsonObject): Work<JsonObject> => patched(rest, current, patch);
  const unconditional = type.rules.unconditionalUpdate;
  const plan = { endpoint, edit, options: patch.options, unconditional, comparesUid: false, tracked: false };
  return applyUpdate(rest, plan, form);
}

/** The object after the patch, read as anew. What there is to say about it goes into the notes of the request. */
export function* patched(rest: RestRequest, current: JsonObject, patch: ChangePatch): Work<JsonObject> {
  const { value: result, fractions } = patch.apply(current);
  if (!isJsonObject(result)) throw patchNotApplicable();
  yield;
  const { object, unknownFields } = yield* read(rest, result, { current, patch, fractions });
  const total = patch.findings.length + unknownFields.length;
  const unknown = unknownFields.slice(0, mostFindings).map((path) => `unknown field ${goQuote(path)}`);
  const findings = [...patch.findings, ...unknown];
  const { fieldValidation } = patch.options;
  if (total > 0 && fieldValidation === "Strict") {
    throw patchResultInvalid(patch.shown(current), strictDecodingText(shownFindings(findings, total)));
  }
  if (fieldValidation === "Warn") noteFindings(rest, findings, total);
  const owned = dedupedOwners(atTarget(rest, object));
  rest.notes.push(...owned.warnings);
  return owned.object;
}

interface Patching {
  readonly current: JsonObject;
  readonly patch: ChangePatch;
  readonly fractions: Fractions | undefined;
}

function* read(rest: RestRequest, result: JsonObject, { current, patch, fractions }: Patching): Work<DecodedObject> {
  const { strategy, type } = rest;
  const typed = withType(result, { apiVersion: apiVersionOf(type), kind: type.kind }, false);
  try {
    if (patch.isConverted) {
      requireConvertible(typed);
      yield;
      const { object, unknownFields } = yield* decodedObject(strategy, withResetMark(rest, typed));
      return { object, unknownFields: unknownFields.toSorted(compareUtf8) };
    }
    if (result["apiVersion"] === undefined && !type.custom) {
      // Without a version the reference reads it as a type whose fields have no names in JSON.
      return {
        object: {},
        unknownFields: sortedKeys(result).filter((name) => name !== "apiVersion" && name !== "kind"),
      };
    }
    requireSameType(rest, result, () => patch.shown(current));
    return yield* decodedObject(strategy, withResetMark(rest, typed), fractions);
  } catch (error) {
    if (isStatusError(error)) throw error;
    throw patchResultInvalid(patch.shown(current), error instanceof Error ? error.message : String(error));
  }
}

/** A patch cannot make an object one of another type. */
function requireSameType({ strategy, type }: RestRequest, result: JsonObject, shown: () => string): void {
  const [apiVersion, kind] = [String(result["apiVersion"] ?? ""), String(result["kind"] ?? "")];
  if (type.custom) {
    requireCustomType(type, result, shown);
    return;
  }
  const problem = kind === "" ? undefined : strategy.decoder.kindProblem?.({ kind, apiVersion, value: result });
  if (problem !== undefined) throw new Error(problem);
}

function requireCustomType(type: ResourceType, result: JsonObject, shown: () => string): void {
  const { apiVersion = "", kind = "" } = result;
  if (kind === "") throw new Error(`Object 'Kind' is missing in '${shown()}'`);
  const expected = { kind: type.kind, apiVersion: apiVersionOf(type) };
  const errors = Object.entries(expected)
    .filter(([name, value]) => result[name] !== value)
    .map(([name, value]) => invalidValue(name, result[name] ?? "", `must be ${value}`));
  if (errors.length > 0) {
    const { group } = parseApiVersion(String(apiVersion));
    throw invalid({ group, kind: String(kind) }, metaOf(result).name ?? "", errors);
  }
}
