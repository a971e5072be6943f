// SPDX-License-Identifier: Apache-2.0
// Rendering alone, for a command that must start fast: nothing here loads metrics or an API server.
export { createMemoryClient } from "./memory-client.ts";
export { type Rendered, renderComposite } from "./render-composite.ts";
export { isRenderError, RenderError } from "./render-inputs.ts";
