// SPDX-License-Identifier: Apache-2.0
import { goQuote } from "@purlin/kube-objects/json";

const texts: ReadonlyMap<number, string> = new Map([
  [400, "the server rejected our request for an unknown reason"],
  [401, "the server has asked for the client to provide credentials"],
  [404, "the server could not find the requested resource"],
  [405, "the server does not allow this method on the requested resource"],
  [409, "the server reported a conflict"],
  [422, "the server rejected our request due to an error in our request"],
  [429, "the server has received too many requests and has asked us to try again later"],
  [503, "the server is currently unable to handle the request"],
  [504, "the server was unable to return a response in the time allotted, but may still be processing the request"],
]);

/** What the reference's client says about a response with an error code and no Status. */
export function statusCodeText(code: number, message: string): string {
  const known = texts.get(code);
  if (known !== undefined) return known;
  if (code === 403 || code === 406 || code === 415) return message;
  if (code >= 500) return `an error on the server (${goQuote(message)}) has prevented the request from succeeding`;
  return `the server responded with the status code ${code} but did not return more information`;
}
