# Pecia with its console and its embedding model: docs/containers.md.
# Nothing is fetched when it runs.

FROM node:22-slim AS console
WORKDIR /build
COPY web/package.json web/package-lock.json web/
RUN cd web && npm install --no-save --ignore-scripts --silent
COPY web web
COPY src/pecia/interfaces src/pecia/interfaces
RUN cd web && npm run build --silent

FROM python:3.12-slim AS install
# ocr, asr, or both with a comma.
ARG EXTRAS=
WORKDIR /build
COPY packages/pecia-minilm packages/pecia-minilm
COPY packages/pecia-polyglot packages/pecia-polyglot
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src src
COPY --from=console /build/src/pecia/interfaces/web/static src/pecia/interfaces/web/static
RUN python -m venv /opt/pecia \
 && /opt/pecia/bin/pip install --no-cache-dir ./packages/pecia-minilm ./packages/pecia-polyglot ".${EXTRAS:+[$EXTRAS]}"

FROM python:3.12-slim
RUN useradd --uid 10001 --home-dir /var/lib/pecia --create-home pecia
COPY --from=install /opt/pecia /opt/pecia
COPY examples/container.yml /etc/pecia/pecia.yml
ENV PATH=/opt/pecia/bin:$PATH PECIA_HOME=/var/lib/pecia PYTHONDONTWRITEBYTECODE=1
USER pecia
WORKDIR /var/lib/pecia
VOLUME /var/lib/pecia
EXPOSE 7324
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:7324/healthz', timeout=4)"]
ENTRYPOINT ["pecia"]
CMD ["serve", "--config", "/etc/pecia/pecia.yml"]
