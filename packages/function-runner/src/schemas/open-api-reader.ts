// SPDX-License-Identifier: Apache-2.0
import type { OpenAPISource } from "@purlin/kube-objects/openapi";

/** Where OpenAPI v3 documents are read from: a server's `/openapi/v3`, or memory. */
export interface OpenAPIReader {
  /**
   * The index of documents: path key (`api/v1`, `apis/apps/v1`) to server-relative URL. A URL with a `hash` in its query
   * stands for one content for ever.
   */
  index(): Promise<ReadonlyMap<string, string>>;
  /** The document at a URL of the index. */
  document(url: string): Promise<OpenAPISource>;
}
