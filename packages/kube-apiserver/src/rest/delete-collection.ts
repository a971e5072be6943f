// SPDX-License-Identifier: Apache-2.0
import { ignoreNotFound, type JsonObject } from "@purlin/kube-objects";
import type { CompleteResponse } from "../request/api-response.ts";
import type { Entry } from "../store/store.ts";
import { encodeContinue } from "./continue-token.ts";
import { deleteOne } from "./delete.ts";
import { readDeleteOptions } from "./delete-options.ts";
import { isSelected, readInteger, readSelection } from "./list-options.ts";
import { listPayload } from "./list-payload.ts";
import { metaOf } from "./object-meta.ts";
import { negotiateForm } from "./object-response.ts";
import type { RestRequest } from "./rest-context.ts";
import { keyPrefix } from "./storage-key.ts";

/** Deletes every selected object, one after the other, and answers with them as they were. */
export async function deleteCollection(rest: RestRequest): Promise<CompleteResponse> {
  const { request, store, strategy, target, type } = rest;
  const form = negotiateForm(request);
  const selection = readSelection(request.query, strategy);
  const options = await readDeleteOptions(rest);
  const filter = selection.isEverything
    ? undefined
    : (entry: Entry<JsonObject>): boolean => isSelected(strategy.toServed(entry.value), selection, strategy);
  const prefix = keyPrefix(type, target.namespace);
  const limit = readInteger(request.query, "limit") || undefined;
  const { entries, revision, remaining } = store.list({ prefix, filter, limit });
  await Promise.all(entries.map((entry) => deleteIfThere(rest, entry, options)));
  const last = entries.at(-1);
  const hasMore = remaining > 0 && last !== undefined;
  const metadata = {
    revision,
    continueToken: hasMore ? encodeContinue({ revision, after: last.key.slice(prefix.length) }) : "",
    remaining: hasMore && selection.isEverything ? remaining : undefined,
  };
  return { kind: "complete", code: 200, payload: listPayload(rest, entries, metadata, form) };
}

async function deleteIfThere(
  rest: RestRequest,
  entry: Entry<JsonObject>,
  options: Awaited<ReturnType<typeof readDeleteOptions>>,
): Promise<void> {
  const { name = "", namespace = "" } = metaOf(entry.value);
  await ignoreNotFound(deleteOne(rest, name, options, namespace));
}
