// SPDX-License-Identifier: Apache-2.0
import { type Metadata, type ServiceError, status } from "@grpc/grpc-js";

/**
 * The error of a call whose answer breaks the rules of gRPC, in words that say how. gRPC's client tells what it stumbled
 * over: a web page is a message of 1.7 GB to it, half an answer a method that is not implemented.
 */
export function explainOddAnswer(error: ServiceError, headers: Metadata | undefined): ServiceError {
  const type = headers?.get("content-type")[0]?.toString();
  if (type !== undefined && !type.startsWith("application/grpc") && !isHttpStatus(error)) {
    return restate(error, status.UNKNOWN, `the function answers with ${JSON.stringify(type)}, not with gRPC`);
  }
  // gRPC's client throws an error without a status for an unknown compression: it becomes a status without members.
  if (error.code === undefined) {
    return restate(error, status.INTERNAL, "the function's answer is compressed in a way this runner does not know");
  }
  if (error.code === status.UNIMPLEMENTED && error.details === "No message received") {
    return restate(error, status.INTERNAL, "the function says OK and sends no whole answer");
  }
  return Number.isInteger(error.code) ? error : restate(error, status.UNKNOWN, "the function's status is not a number");
}

const isHttpStatus = ({ details }: ServiceError): boolean => details?.startsWith("Received HTTP status code");

function restate(cause: ServiceError, code: status, details: string): ServiceError {
  return Object.assign(new Error(details, { cause }), { code, details, metadata: cause.metadata });
}
