// SPDX-License-Identifier: Apache-2.0
import { notAcceptable } from "@purlin/kube-objects/errors";
import { type MediaClause, parseAccept } from "./media-type.ts";

/** The forms an answer can have. */
export type MediaType = "application/json" | "application/yaml";

/** Another shape the client asked the objects to be given in. */
interface Transform {
  readonly as: string;
  readonly group: string;
  readonly version: string;
}

/** What the client and the server agreed on. */
export interface Negotiated {
  readonly mediaType: MediaType;
  readonly transform: Transform | undefined;
  /** The client asked for indentation in its Accept header. */
  readonly pretty: boolean;
}

const mediaTypes: readonly MediaType[] = ["application/json", "application/yaml"];
/** What the server says it takes and gives. */
export const acceptedTypes: readonly string[] = mediaTypes;

const plain: Negotiated = { mediaType: "application/json", transform: undefined, pretty: false };

/** Clients send the same few headers all the time. */
const maxRemembered = 200;

/** Says which transforms an endpoint offers. */
type TransformOffer = (transform: Transform, mediaType: MediaType) => boolean;

/**
 * Makes the negotiation of one kind of endpoint: the first clause, in the client's order of preference, that names a form we have and no
 * transform we lack. Throws 406 when no clause fits.
 */
export function createNegotiation(offers: TransformOffer): (accept: string | undefined) => Negotiated {
  const remembered = new Map<string, Negotiated>();
  return (accept = "") => {
    const known = remembered.get(accept);
    if (known !== undefined) return known;
    const negotiated = negotiate(accept, offers);
    if (remembered.size < maxRemembered) remembered.set(accept, negotiated);
    return negotiated;
  };
}

/** The negotiation of errors, which have one shape only: clauses that want another are passed over. Undefined when none fits. */
export function negotiateError(accept: string | undefined): MediaType | undefined {
  if ((accept ?? "").trim() === "") return "application/json";
  for (const clause of parseAccept(accept ?? "")) {
    const mediaType = mediaTypes.find((candidate) => fits(clause, candidate));
    if (mediaType !== undefined && !clause.parameters.get("as")) return mediaType;
  }
  return undefined;
}

function negotiate(accept: string, offers: TransformOffer): Negotiated {
  if (accept.trim() === "") return plain;
  for (const clause of parseAccept(accept)) {
    const mediaType = mediaTypes.find((candidate) => fits(clause, candidate));
    const negotiated = mediaType && offered(clause, mediaType, offers);
    if (negotiated !== undefined) return negotiated;
  }
  throw notAcceptable(acceptedTypes);
}

function offered({ parameters }: MediaClause, mediaType: MediaType, offers: TransformOffer): Negotiated | undefined {
  const [as, group, version] = [parameters.get("as"), parameters.get("g") ?? "", parameters.get("v") ?? ""];
  if (parameters.has("sv")) return undefined;
  const transform = as === undefined || as === "" ? undefined : { as, group, version };
  if (transform !== undefined && !offers(transform, mediaType)) return undefined;
  return { mediaType, transform, pretty: parameters.get("pretty") === "1" };
}

function fits({ type, subtype }: MediaClause, mediaType: MediaType): boolean {
  const [ownType, ownSubtype] = mediaType.split("/");
  return (type === "*" || type === ownType) && (subtype === "*" || subtype === ownSubtype);
}
