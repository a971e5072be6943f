// SPDX-License-Identifier: Apache-2.0
import type { ContentStore } from "../content/content-store.ts";
import type { RepositoryIndex } from "./repository-index.ts";
import type { Uploads } from "./uploads.ts";

/** Everything a registry keeps. */
export interface RegistryState {
  readonly store: ContentStore;
  readonly index: RepositoryIndex;
  readonly uploads: Uploads;
  /** Required for every request; undefined: nothing is. */
  readonly token?: string | undefined;
  /** Called whenever a tag is written, with its new digest. */
  readonly onTag?: ((repository: string, tag: string, digest: string) => void) | undefined;
}
