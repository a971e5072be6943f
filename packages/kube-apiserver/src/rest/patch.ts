// SPDX-License-Identifier: Apache-2.0
import {
  goQuote,
  isJsonObject,
  type JsonObject,
  patchNotApplicable,
  patchResultInvalid,
  strictDecodingText,
} from "@purlin/kube-objects";
import type { CompleteResponse } from "../request/api-response.ts";
import { applyObject } from "./apply.ts";
import { applyUpdate } from "./apply-update.ts";
import { withResetMark } from "./decode-object.ts";
import { negotiateForm } from "./object-response.ts";
import type { Endpoint } from "./object-strategy.ts";
import { dedupedOwners } from "./owner-references.ts";
import { type ChangePatch, readPatchRequest } from "./patch-request.ts";
import type { RestRequest } from "./rest-context.ts";
import { atTarget } from "./update.ts";

/** Changes an object, or a part of it, by a patch. */
export async function patchObject(rest: RestRequest, endpoint: Endpoint): Promise<CompleteResponse> {
  const { request, strategy, type } = rest;
  const form = negotiateForm(request);
  const patch = await readPatchRequest(request, strategy.strategicMerge?.bind(strategy));
  if (patch.isApply) {
    return applyObject(rest, { endpoint, patch, form });
  }
  const edit = (current: JsonObject): JsonObject => edited(rest, current, patch);
  const unconditional = type.rules.unconditionalUpdate;
  const plan = { endpoint, edit, options: patch.options, unconditional, comparesUid: false, tracked: false };
  return applyUpdate(rest, plan, form);
}

/** The object after the patch, read as anew. What there is to say about it goes into the notes of the request. */
function edited(rest: RestRequest, current: JsonObject, patch: ChangePatch): JsonObject {
  const result = patch.apply(current);
  if (!isJsonObject(result)) {
    throw patchNotApplicable();
  }
  requireSameType(current, result, patch);
  const { object, unknownFields } = decodeResult(rest, withResetMark(rest, result), patch);
  const findings = [...patch.findings, ...unknownFields.map((path) => `unknown field ${goQuote(path)}`)];
  const { fieldValidation } = patch.options;
  if (findings.length > 0 && fieldValidation === "Strict") {
    throw patchResultInvalid(patch.shown(result), strictDecodingText(findings));
  }
  const owned = dedupedOwners(atTarget(rest, object));
  rest.notes.push(...(fieldValidation === "Warn" ? findings : []), ...owned.warnings);
  return owned.object;
}

function decodeResult(
  { strategy }: RestRequest,
  result: JsonObject,
  patch: ChangePatch,
): ReturnType<typeof strategy.decode> {
  try {
    return strategy.decode(result);
  } catch (error) {
    throw patchResultInvalid(patch.shown(result), error instanceof Error ? error.message : String(error));
  }
}

function requireSameType(current: JsonObject, result: JsonObject, patch: ChangePatch): void {
  const [apiVersion, kind] = [result["apiVersion"], result["kind"]];
  if (kind !== current["kind"] || apiVersion !== current["apiVersion"]) {
    const why = `no kind ${JSON.stringify(kind ?? "")} is registered for version ${JSON.stringify(apiVersion ?? "")} in scheme "pkg/runtime/scheme.go:111"`;
    throw patchResultInvalid(patch.shown(result), why);
  }
}
