// SPDX-License-Identifier: Apache-2.0

import type { Work } from "@purlin/base";
import { type JsonObject, type JsonValue, printJson } from "@purlin/kube-objects/json";
import { inNameOrder } from "../objects/member-order.ts";
import { apiVersionOf } from "../registry/registry.ts";
import { joinedPayload, madePayload, type Payload } from "../request/api-request.ts";
import type { Entry } from "../store/store.ts";
import { toPartialMetadata, toRow, toTable } from "../table/table.ts";
import { isLargeEntry, servedBytes, typeHead } from "./object-codec.ts";
import { inShapeVersion, isPlain, type ObjectForm, type Shape } from "./object-response.ts";
import type { RestRequest } from "./rest-context.ts";

/** What a list says about itself. */
export interface ListMetadata {
  readonly revision: number;
  /** Empty on the last page. */
  readonly continueToken: string;
  readonly remaining: number | undefined;
}

/** The objects of a list and its metadata. */
export interface ListContent {
  readonly entries: readonly Entry<JsonObject>[];
  readonly metadata: ListMetadata;
}

/** A list in the form asked for. */
export function listPayload(rest: RestRequest, { entries, metadata }: ListContent, form: ObjectForm): Payload {
  if (isPlain(form)) {
    return joinedPayload(
      () => joinBytes(rest, entries, metadata),
      () =>
        listValue(
          rest,
          entries.map((entry) => rest.strategy.storage.toServed(entry.value)),
          metadata,
        ),
    );
  }
  return madePayload(() => shapedList(rest, { entries, metadata }, form), {
    mediaType: form.mediaType,
    pretty: form.pretty,
  });
}

/** How many objects are looked at in one part, unless one is large. */
const portionSize = 20;

function endsPart(index: number, entry: Entry<JsonObject>): boolean {
  return index % portionSize === 0 || isLargeEntry(entry);
}

function* shapedList(rest: RestRequest, { entries, metadata }: ListContent, form: ObjectForm): Work<JsonObject> {
  const listMeta = metadataValue(rest, metadata, form.shape);
  const { printer } = rest.strategy.view;
  const options = { metadata: listMeta, include: form.include, now: rest.now().getTime(), withColumns: true };
  const table = form.shape === "table" ? toTable(printer, [], options) : {};
  const rows: JsonObject[] = [];
  const objects: JsonObject[] = [];
  for (const [index, entry] of entries.entries()) {
    const object = rest.strategy.storage.toServed(entry.value);
    if (form.shape === "table") {
      rows.push(toRow(printer, object, options));
    } else {
      objects.push(object);
    }
    if (endsPart(index, entry)) yield;
  }
  switch (form.shape) {
    case "table":
      return inShapeVersion({ ...table, rows }, form);
    case "metadata": {
      const items = objects.map((object) => inShapeVersion(toPartialMetadata(object), form));
      return inShapeVersion(
        { kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1", metadata: listMeta, items },
        form,
      );
    }
    case "whole":
      return listValue(rest, rest.type.custom ? objects : objects.map(withoutType), metadata);
  }
}

/** The list as a value. Inside the process items keep their type: taking it away from each would copy them all. */
function listValue(rest: RestRequest, items: readonly JsonObject[], metadata: ListMetadata): JsonObject {
  const { type } = rest;
  const [apiVersion, meta] = [apiVersionOf(type), metadataValue(rest, metadata)];
  return type.custom
    ? { apiVersion, items, kind: type.listKind, metadata: inNameOrder(meta) }
    : { kind: type.listKind, apiVersion, metadata: meta, items };
}

function metadataValue(
  { type }: RestRequest,
  { revision, continueToken, remaining }: ListMetadata,
  shape: Shape = "whole",
): JsonObject {
  return {
    resourceVersion: String(revision),
    // Lists of custom objects always have it, of built-in ones only when there is more.
    ...(continueToken !== "" || (type.custom && shape === "whole") ? { continue: continueToken } : {}),
    ...(remaining === undefined ? {} : { remainingItemCount: remaining }),
  };
}

function withoutType({
  apiVersion: _version,
  kind: _kind,
  ...rest
}: {
  readonly [key: string]: JsonValue;
}): JsonObject {
  return rest;
}

/**
 * The list as bytes, put together from the bytes of its objects. Items of built-in kinds carry no type: each begins where its
 * metadata does.
 */
function* joinBytes(
  rest: RestRequest,
  entries: readonly Entry<JsonObject>[],
  metadata: ListMetadata,
): Work<readonly Uint8Array[]> {
  const { type, strategy } = rest;
  const skipped = type.custom ? 0 : typeHead(apiVersionOf(type), type.kind).length;
  const items: Uint8Array[] = [];
  for (const [index, entry] of entries.entries()) {
    items.push(servedBytes(entry, strategy));
    if (endsPart(index, entry)) yield;
  }
  const [head, tail] = around(printJson(listValue(rest, [], metadata), { htmlSafe: true }));
  const ends = head.length + tail.length;
  const joined = Buffer.allocUnsafe(items.reduce((sum, bytes) => sum + bytes.length - skipped + 2, ends));
  joined.set(head, 0);
  let at = head.length;
  for (const [index, bytes] of items.entries()) {
    if (index > 0) joined[at++] = comma;
    if (skipped > 0) joined[at++] = openingBrace;
    joined.set(skipped > 0 ? bytes.subarray(skipped) : bytes, at);
    at += bytes.length - skipped;
  }
  joined.set(tail, at);
  return [joined.subarray(0, at + tail.length)];
}

const noItems = '"items":[]';

/** What comes before the first item and what after the last. */
function around(emptyList: string): readonly [head: Buffer, tail: Buffer] {
  const split = emptyList.indexOf(noItems) + noItems.length - 1;
  return [Buffer.from(emptyList.slice(0, split)), Buffer.from(`${emptyList.slice(split)}\n`)];
}

const comma = 0x2c;
const openingBrace = 0x7b;
