// SPDX-License-Identifier: Apache-2.0
import { setImmediate as nextTurn } from "node:timers/promises";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { metaOf } from "../objects/object-meta.ts";
import type { CompleteResponse } from "../request/api-response.ts";
import type { Entry } from "../store/store.ts";
import { deleteOne } from "./delete.ts";
import { readDeleteOptions } from "./delete-options.ts";
import { selectNewest } from "./list.ts";
import { readInteger, readSelection } from "./list-options.ts";
import { listPayload } from "./list-payload.ts";
import { negotiateForm } from "./object-response.ts";
import type { RestRequest } from "./rest-context.ts";

const partObjects = 200;
const partBytes = 512 * 1024;

/** Deletes every selected object, one after the other, and answers with them as they were. */
export async function deleteCollection(rest: RestRequest): Promise<CompleteResponse> {
  const { request, strategy } = rest;
  const form = negotiateForm(request);
  const selection = readSelection(request.query, strategy.view);
  const options = await readDeleteOptions(rest);
  const limit = readInteger(request.query, "limit") || 0;
  const { entries, metadata } = await selectNewest(rest, selection, limit);
  for (const part of partsOf(entries)) {
    await Promise.all(part.map((entry) => deleteIfThere(rest, entry, options)));
    await nextTurn();
  }
  return { kind: "complete", code: 200, payload: listPayload(rest, entries, metadata, form) };
}

/** Parts that are deleted with one commit each. Every deletion looks into its object, so large ones come in small parts. */
function partsOf(entries: readonly Entry<JsonObject>[]): readonly Entry<JsonObject>[][] {
  const parts: Entry<JsonObject>[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    bytes += entry.bytes.length;
    const last = parts.at(-1);
    if (last === undefined || last.length >= partObjects || bytes > partBytes) {
      parts.push([entry]);
      bytes = entry.bytes.length;
    } else {
      last.push(entry);
    }
  }
  return parts;
}

async function deleteIfThere(
  rest: RestRequest,
  entry: Entry<JsonObject>,
  options: Awaited<ReturnType<typeof readDeleteOptions>>,
): Promise<void> {
  const { name = "", namespace = "" } = metaOf(entry.value);
  await ignoreNotFound(deleteOne(rest, name, options, namespace));
}
