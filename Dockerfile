# docker build -t hookswitch .
# docker run --network host -v hookswitch:/var/lib/hookswitch -v ./hookswitch.yaml:/etc/hookswitch/hookswitch.yaml:ro hookswitch
#
# Without a file of yours there the defaults stand. deploy/compose has it behind Kamailio.
# Audio takes two UDP ports a call: --network host, or as few as are needed (media.rtp_ports) with -p.
FROM node:22-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
COPY packages/importer/package.json packages/importer/
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN node scripts/prepare.mjs --compile && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:22-slim
WORKDIR /opt/hookswitch
COPY --from=build /build/package.json /build/hookswitch.example.yaml /build/LICENSE ./
COPY --from=build /build/node_modules ./node_modules
COPY --from=build /build/dist ./dist
COPY --from=build /build/sounds ./sounds
RUN mkdir -p /var/lib/hookswitch /etc/hookswitch && chown node:node /var/lib/hookswitch && \
    echo '# The defaults.' > /etc/hookswitch/hookswitch.yaml
ENV NODE_ENV=production \
    HOOKSWITCH_CONFIG=/etc/hookswitch/hookswitch.yaml \
    HOOKSWITCH_HTTP_BIND=0.0.0.0 \
    HOOKSWITCH_SIP_BIND=0.0.0.0 \
    HOOKSWITCH_DATA=/var/lib/hookswitch/data \
    HOOKSWITCH_RECORDINGS=/var/lib/hookswitch/recordings
USER node
VOLUME /var/lib/hookswitch
# The interface; SIP; audio.
EXPOSE 8088/tcp 5060/udp 5060/tcp 10000-20000/udp
# Calls may end (general.drain_timeout), then they are hung up: docker stop --time 30
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "/opt/hookswitch/dist/cli.js", "ready"]
ENTRYPOINT ["node", "/opt/hookswitch/dist/cli.js"]
CMD ["serve", "--supervised"]
