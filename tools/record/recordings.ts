// SPDX-License-Identifier: Apache-2.0
import { applyRecordings } from "./apply.ts";
import { builtinRecordings } from "./builtin-objects.ts";
import { celRecordings } from "./cel.ts";
import { conversationRecordings } from "./conversations.ts";
import { crossplaneRecordings } from "./crossplane.ts";
import { libraryRecordings } from "./libraries.ts";
import { openapiRecordings } from "./openapi.ts";
import { operationRecordings } from "./operations.ts";
import { patchRecordings } from "./patch-bodies.ts";
import type { Recording } from "./recording.ts";
import { operationRenderRecording, renderRecording } from "./render.ts";
import { schemaRecordings } from "./schemas.ts";
import { storedRecordings } from "./stored-objects.ts";
import { storedTableRecordings } from "./stored-tables.ts";
import { tableRecordings } from "./tables.ts";

/** Every file of test data that can be recorded again. */
export const allRecordings: readonly Recording[] = [
  ...celRecordings,
  ...builtinRecordings,
  ...conversationRecordings,
  ...tableRecordings,
  ...storedTableRecordings,
  ...openapiRecordings,
  ...operationRecordings,
  ...storedRecordings,
  renderRecording,
  operationRenderRecording,
  ...libraryRecordings,
  ...applyRecordings,
  ...patchRecordings,
  ...schemaRecordings,
  ...crossplaneRecordings,
];
