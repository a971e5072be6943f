// SPDX-License-Identifier: Apache-2.0
import { childPath, fieldErrorsText, unclassifiedError } from "@purlin/kube-objects/errors";
import {
  goQuote,
  goTypeName,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonKind,
  ownValue,
  printJson,
} from "@purlin/kube-objects/json";
import { validateAnnotations, validateLabels } from "@purlin/kube-objects/metadata";
import { objectAt, parseApiVersion, stringAt, textsAt } from "@purlin/kube-objects/object";
import { reviewResponse } from "../webhooks/review-response.ts";
import { WebhookCallError, type WebhookClient } from "../webhooks/webhook-client.ts";

/** Converts objects of a kind between its versions. */
export interface ObjectConverter {
  /** The objects in another version, in the same order. Throws 500 with the text of the reference when the conversion fails. */
  convert(objects: readonly JsonObject[], apiVersion: string): Promise<readonly JsonObject[]>;
}

/** What conversion webhooks are called with. */
export interface ConversionDeps {
  readonly client: Pick<WebhookClient, "post">;
  readonly newUid: () => string;
}

const timeoutMs = 30_000;
/** More objects, or more bytes, are sent in several calls: a response must not hold the server up. */
const maxObjects = 500;
const maxBytes = 1024 * 1024;

/** The converter of a CRD with a conversion webhook; undefined when its strategy is None. */
export function webhookConverter(crd: JsonObject, deps: ConversionDeps): ObjectConverter | undefined {
  const conversion = objectAt(crd, ["spec", "conversion"]);
  if (stringAt(conversion, ["strategy"]) !== "Webhook") return undefined;
  const config = objectAt(conversion, ["webhook", "clientConfig"]);
  const versions = textsAt(conversion, ["webhook", "conversionReviewVersions"]);
  const reviewVersion = versions.find((one) => one === "v1" || one === "v1beta1") === "v1beta1" ? "v1beta1" : "v1";
  return {
    async convert(objects, apiVersion) {
      const all: JsonObject[] = [];
      for (const part of parts(objects)) {
        all.push(...(await convertPart(part, { apiVersion, config, reviewVersion, ...deps })));
      }
      return all;
    },
  };
}

interface Part {
  readonly objects: JsonObject[];
  readonly texts: string[];
}

function* parts(objects: readonly JsonObject[]): Generator<Part> {
  let part: Part = { objects: [], texts: [] };
  let bytes = 0;
  for (const object of objects) {
    const text = printJson(object);
    if (part.objects.length > 0 && (part.objects.length >= maxObjects || bytes + text.length > maxBytes)) {
      yield part;
      part = { objects: [], texts: [] };
      bytes = 0;
    }
    part.objects.push(object);
    part.texts.push(text);
    bytes += text.length;
  }
  if (part.objects.length > 0) yield part;
}

interface PartCall extends ConversionDeps {
  readonly apiVersion: string;
  readonly config: JsonObject;
  readonly reviewVersion: ConversionReviewVersion;
}

async function convertPart({ objects, texts }: Part, call: PartCall): Promise<readonly JsonObject[]> {
  const [first] = objects;
  const { version, group } = parseApiVersion(stringAt(first ?? {}, ["apiVersion"]));
  const what = `conversion webhook for ${group}/${version}, Kind=${stringAt(first ?? {}, ["kind"])}`;
  try {
    const converted = await received(texts, call);
    if (converted.length !== objects.length) {
      throw new ConversionError(`returned ${converted.length} objects, expected ${objects.length}`);
    }
    return objects.map((object, index) => acceptedObject(converted[index] ?? null, object, call.apiVersion));
  } catch (error) {
    if (!(error instanceof ConversionError)) throw error;
    throw unclassifiedError(`${what} ${error.message}`, error);
  }
}

async function received(texts: readonly string[], call: PartCall): Promise<readonly JsonValue[]> {
  const { client, newUid, apiVersion, config, reviewVersion } = call;
  const uid = newUid();
  try {
    const body = conversionBody({ uid, reviewVersion, apiVersion, objects: texts });
    const review = await client.post({ config, body, timeoutMs, mostValues, userAgent: "kube-apiserver" });
    return convertedObjects(review, { uid, reviewVersion });
  } catch (error) {
    if (!(error instanceof WebhookCallError) && !(error instanceof ConversionError)) throw error;
    throw new ConversionError(`failed: ${error.message}`, { cause: error });
  }
}

// ConversionReview: the request to a conversion webhook, and the meaning of its response. Texts are those of the reference.

const group = "apiextensions.k8s.io";
/** Most values of a response. It may have several objects. */
const mostValues = 250_000;
const metadata = childPath(undefined, "metadata");

/** The versions of reviews that the server supports. */
type ConversionReviewVersion = "v1" | "v1beta1";

/** One request to a conversion webhook. */
interface ConversionRequest {
  readonly uid: string;
  readonly reviewVersion: ConversionReviewVersion;
  readonly apiVersion: string;
  /** The objects as JSON. */
  readonly objects: readonly string[];
}

/** The body of a review. The reference sends an empty response with the request. */
function conversionBody({ uid, reviewVersion, apiVersion, objects }: ConversionRequest): string {
  const request = `{"uid":${JSON.stringify(uid)},"desiredAPIVersion":${JSON.stringify(apiVersion)},"objects":[${objects.join(",")}]}`;
  const response = '{"uid":"","convertedObjects":null,"result":{"metadata":{}}}';
  return `{"kind":"ConversionReview","apiVersion":"${group}/${reviewVersion}","request":${request},"response":${response}}`;
}

/** A response that breaks the protocol, or says that the conversion failed. */
class ConversionError extends Error {}

/** The converted objects of a response. Throws a {@link ConversionError}. */
function convertedObjects(
  review: JsonValue,
  { uid, reviewVersion }: Pick<ConversionRequest, "uid" | "reviewVersion">,
): readonly JsonValue[] {
  const response = responseOf(review, reviewVersion);
  if (response === undefined) throw new ConversionError("no response provided");
  const received = stringAt(response, ["uid"]);
  if (reviewVersion === "v1" && received !== uid) {
    throw new ConversionError(`expected response.uid=${goQuote(uid)}, got ${goQuote(received)}`);
  }
  const result = objectAt(response, ["result"]);
  const status = stringAt(result, ["status"]);
  if (status !== "Success") {
    const message = stringAt(result, ["message"]);
    throw new ConversionError(message || `response.result.status was '${status}', not 'Success'`);
  }
  const objects = response["convertedObjects"] ?? [];
  return Array.isArray(objects) ? (objects as readonly JsonValue[]) : [];
}

function responseOf(review: JsonValue, reviewVersion: ConversionReviewVersion): JsonObject | undefined {
  const found = reviewResponse(review, { group, version: reviewVersion, kind: "ConversionReview" });
  if ("problem" in found) throw new ConversionError(found.problem);
  const { response, untyped } = found;
  if (untyped !== undefined) throw new ConversionError(untyped);
  return isJsonObject(response) ? response : undefined;
}

/** A converted object with the metadata of the original, but for labels and annotations. Throws a problem in the form «returned …». */
function acceptedObject(converted: JsonValue, original: JsonObject, apiVersion: string): JsonObject {
  const at = "returned invalid object at index 0";
  if (converted === null) throw unclassifiedError("unexpected end of JSON input");
  if (!isJsonObject(converted)) {
    throw unclassifiedError(
      `json: cannot unmarshal ${jsonKind(converted)} into Go value of type map[string]interface {}`,
    );
  }
  const [received, kind] = [stringAt(converted, ["apiVersion"]), stringAt(converted, ["kind"])];
  if (kind === "") throw unclassifiedError(`Object 'Kind' is missing in '${printJson(converted)}'`);
  if (received !== apiVersion) {
    const shown = received === "" || received.includes("/") ? received || "/" : `/${received}`;
    throw new ConversionError(`${at}: invalid groupVersion (expected ${apiVersion}, received ${shown})`);
  }
  const wanted = stringAt(original, ["kind"]);
  if (kind !== wanted) throw new ConversionError(`${at}: invalid kind (expected ${wanted}, received ${kind})`);
  requireSameObject(converted, original);
  return { ...converted, metadata: restoredMetadata(converted, original) };
}

function requireSameObject(converted: JsonObject, original: JsonObject): void {
  for (const [name, shown] of Object.entries({ name: "name", namespace: "namespace", uid: "UID" })) {
    const [expected, actual] = [stringAt(original, ["metadata", name]), stringAt(converted, ["metadata", name])];
    if (expected !== actual) {
      throw new ConversionError(`returned invalid object: must have the same ${shown}: ${expected} != ${actual}`);
    }
  }
}

function restoredMetadata(converted: JsonObject, original: JsonObject): JsonObject {
  const received = ownValue(converted, "metadata");
  if (received === undefined) throw invalidMetadata("missing metadata in converted object");
  if (!isJsonObject(received)) {
    throw invalidMetadata(`invalid metadata of type ${goTypeName(received)} in converted object`);
  }
  const { labels: _, annotations: __, ...kept } = objectAt(original, ["metadata"]);
  const labels = restoredTexts("labels", received, original);
  const annotations = restoredTexts("annotations", received, original);
  return { ...kept, ...(labels && { labels }), ...(annotations && { annotations }) };
}

/** The labels or annotations of a converted object, which are validated when they have changed. */
function restoredTexts(
  name: "labels" | "annotations",
  received: JsonObject,
  original: JsonObject,
): JsonObject | undefined {
  const texts = ownValue(received, name);
  if (texts === undefined || texts === null) return undefined;
  if (!isJsonObject(texts)) {
    throw invalidMetadata(`invalid metadata.${name} of type ${goTypeName(texts)} in converted object`);
  }
  const before = objectAt(original, ["metadata", name]);
  let hasChanged = Object.keys(before).length !== Object.keys(texts).length;
  for (const [key, value] of Object.entries(texts)) {
    if (typeof value !== "string") {
      throw invalidMetadata(
        `metadata.${name}[${key}] must be a string, but is ${goTypeName(value)} in converted object`,
      );
    }
    hasChanged ||= ownValue(before, key) !== value;
  }
  if (!hasChanged) return texts;
  const errors =
    name === "labels"
      ? validateLabels(texts as Readonly<Record<string, string>>, childPath(metadata, name))
      : validateAnnotations(texts as Readonly<Record<string, string>>, childPath(metadata, "annotation"));
  if (errors.length > 0) throw invalidMetadata(fieldErrorsText(errors));
  return texts;
}

const invalidMetadata = (text: string): ConversionError => new ConversionError(`returned invalid metadata: ${text}`);
