// SPDX-License-Identifier: Apache-2.0
import { unclassifiedError } from "@purlin/kube-objects/errors";
import { type JsonObject, type JsonValue, printJson } from "@purlin/kube-objects/json";
import { objectAt, parseApiVersion, stringAt, textsAt } from "@purlin/kube-objects/object";
import { WebhookCallError, type WebhookClient } from "../webhooks/webhook-client.ts";
import {
  acceptedObject,
  ConversionProblem,
  type ConversionReviewVersion,
  conversionBody,
  convertedObjects,
} from "./conversion-review.ts";

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
      throw new ConversionProblem(`returned ${converted.length} objects, expected ${objects.length}`);
    }
    return objects.map((object, index) => acceptedObject(converted[index] ?? null, object, call.apiVersion));
  } catch (error) {
    if (!(error instanceof ConversionProblem)) throw error;
    throw unclassifiedError(`${what} ${error.message}`, error);
  }
}

async function received(texts: readonly string[], call: PartCall): Promise<readonly JsonValue[]> {
  const { client, newUid, apiVersion, config, reviewVersion } = call;
  const uid = newUid();
  try {
    const body = conversionBody({ uid, reviewVersion, apiVersion, objects: texts });
    const review = await client.post({ config, body, timeoutMs, userAgent: "kube-apiserver" });
    return convertedObjects(review, { uid, reviewVersion });
  } catch (error) {
    if (!(error instanceof WebhookCallError) && !(error instanceof ConversionProblem)) throw error;
    throw new ConversionProblem(`failed: ${error.message}`, { cause: error });
  }
}
