// SPDX-License-Identifier: Apache-2.0

import { finish, inTurns, type Work } from "@purlin/base";
import { isBadRequest, unsupportedMediaType } from "@purlin/kube-objects/errors";
import {
  type Fractions,
  type JsonReading,
  JsonSyntaxError,
  type JsonValue,
  parsingJsonStrict,
} from "@purlin/kube-objects/json";
import { decodeProtobuf, ProtobufError } from "@purlin/kube-objects/typed";
import type { ApiRequest } from "../request/api-request.ts";
import { requireFewValues } from "../request/negotiate.ts";
import { readingYaml, type YamlReading } from "../request/yaml-body.ts";

/** What a body says. */
export interface DecodedBody {
  readonly value: JsonValue;
  /** The bytes it came in. */
  readonly raw?: Uint8Array;
  /** What is wrong with it strictly speaking: keys that come twice. */
  readonly strictErrors: readonly string[];
  /** The same, as it is put when it is an error. */
  readonly strictText?: string;
  /** The numbers in it that are not written as integers. */
  readonly fractions?: Fractions;
}

export const jsonType = "application/json";
export const yamlType = "application/yaml";
export const protobufType = "application/vnd.kubernetes.protobuf";

const acceptedTypes: readonly string[] = [jsonType, yamlType, protobufType];
/** JSON may not begin with a byte order mark, YAML may: the mark is kept here. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The media type of the body without parameters; JSON when there is none. */
export function contentTypeOf(request: ApiRequest): string {
  const [type = ""] = (request.headers["content-type"] ?? "").split(";", 1);
  return type.trim().toLowerCase() || jsonType;
}

/**
 * Reads the body of a request; undefined when it has none. Throws 415 for a type that is not understood, 400 for a body that is not
 * what it says. `takesProtobuf` is false where no kind could be meant that has a protobuf form.
 */
export async function readRequestBody(
  request: ApiRequest,
  options: { readonly takesProtobuf: boolean },
): Promise<DecodedBody | undefined> {
  const type = contentTypeOf(request);
  const accepted = options.takesProtobuf ? acceptedTypes : [jsonType, yamlType];
  const { body } = request;
  if (body.kind === "none") return undefined;
  if (!accepted.includes(type)) throw unsupportedMediaType(acceptedTypes);
  if (body.kind === "value") return { value: body.value, strictErrors: [] };
  const bytes = await body.read();
  return bytes.length === 0 ? undefined : { ...(await inTurns(decodingBytes(bytes, type))), raw: bytes };
}

/** The beginning of a body, as the reference shows it in errors about unexpected bodies. */
export function summaryOf(bytes: Uint8Array | undefined): string {
  const [length, shown] = [bytes?.length ?? 0, Buffer.from(bytes?.subarray(0, summaryBytes) ?? [])];
  if (length === 0) return "<empty>";
  const text = shown[0] === openingBrace ? shown.toString() : shown.toString("hex");
  return length > summaryBytes ? `${text} ...` : text;
}

const summaryBytes = 30;
const openingBrace = 0x7b;

/** A body that is not what it says, with its beginning; or, if it `isNumber`, one with a number that nothing can hold. */
export class UndecodableBodyError extends Error {
  readonly raw: Uint8Array;
  readonly isNumber: boolean;

  constructor(message: string, raw: Uint8Array, { isNumber = false }: { readonly isNumber?: boolean } = {}) {
    super(message);
    this.raw = raw;
    this.isNumber = isNumber;
  }
}

/** Bytes of a known type as what they say. */
export function decodeBytes(bytes: Uint8Array, type: string): DecodedBody {
  return finish(decodingBytes(bytes, type));
}

function* decodingBytes(bytes: Uint8Array, type: string): Work<DecodedBody> {
  if (type === protobufType) return { value: fromProtobuf(bytes), strictErrors: [] };
  const text = decoder.decode(bytes);
  if (type === yamlType) {
    const { value, duplicates } = yield* fromYaml(text.replace(/^\uFEFF/, ""), bytes);
    const strictText = `yaml: unmarshal errors:\n  ${duplicates.join("\n  ")}`;
    return { value, strictErrors: duplicates, ...(duplicates.length === 0 ? {} : { strictText }) };
  }
  const { duplicates, ...reading } = yield* fromJson(text, bytes);
  return { ...reading, strictErrors: duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`) };
}

function* fromJson(text: string, bytes: Uint8Array): Work<JsonReading> {
  try {
    return yield* parsingJsonStrict(text, requireFewValues);
  } catch (error) {
    if (error instanceof JsonSyntaxError && error.message.startsWith("json: cannot unmarshal number ")) {
      throw new UndecodableBodyError(error.message, bytes, { isNumber: true });
    }
    if (error instanceof JsonSyntaxError) {
      throw new UndecodableBodyError(`couldn't get version/kind; json parse error: ${error.message}`, bytes);
    }
    throw error;
  }
}

function* fromYaml(text: string, bytes: Uint8Array): Work<YamlReading> {
  try {
    return yield* readingYaml(text);
  } catch (error) {
    throw isBadRequest(error)
      ? new UndecodableBodyError((error as Error).message.replace(converting, ""), bytes)
      : error;
  }
}

/** Texts for patches that bodies do not have. */
const converting = /^error converting YAML to JSON: /;

function fromProtobuf(bytes: Uint8Array): JsonValue {
  try {
    const decoded = decodeProtobuf(bytes);
    if (decoded.known) return decoded.object;
    return { apiVersion: decoded.apiVersion, kind: decoded.kind };
  } catch (error) {
    throw error instanceof ProtobufError ? new UndecodableBodyError(error.message, bytes) : error;
  }
}
