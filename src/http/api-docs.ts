import { createAsyncApi } from './api-docs/asyncapi.ts';
import { createOpenApi } from './api-docs/openapi.ts';
import { apiVersion, createSwagger } from './api-docs/swagger.ts';
import type { Deps } from './deps.ts';
import type { Resource } from './operation.ts';

/** The API documents. Each is given the `Host` that was asked, so that its addresses lead back here. */
export interface ApiDocs {
  /** Swagger 1.2: `resources.json` or a resource's file; undefined for any other name. */
  swagger(file: string, host?: string): object | undefined;
  openApi(host?: string): object;
  asyncApi(host?: string): object;
}

/** The resources with only those operations whose owner exists. */
const present = (resources: readonly Resource[], owners: Deps): Resource[] =>
  resources.map((resource) => ({
    ...resource,
    operations: resource.operations.filter(({ owner }) => owners[owner] !== undefined),
  }));

/** Makes the documents of what is served, once; asking for one costs no more than writing it out. */
export function createApiDocs(resources: readonly Resource[], owners: Deps): ApiDocs {
  const served = present(resources, owners);
  return {
    swagger: createSwagger(served),
    openApi: createOpenApi(served, apiVersion),
    asyncApi: createAsyncApi(apiVersion),
  };
}
