"""One function an endpoint: from an exchange's body to its answer."""

from collections.abc import Sequence
from http import HTTPStatus

import msgspec

from stemcache.server.exchange import Exchange
from stemcache.server.formats import ChatFormat, CompletionFormat, Heading
from stemcache.server.generate import generate
from stemcache.server.metrics import CONTENT_TYPE
from stemcache.server.plan import check_tokens, plan
from stemcache.server.service import Service
from stemcache.wire.chat import decode_chat
from stemcache.wire.completions import decode_completion
from stemcache.wire.generation import Generation
from stemcache.wire.listing import Health, ModelCard, ModelList, ResetAnswer
from stemcache.wire.tokens import Detokenized, Tokenized, decode_detokenize, decode_tokenize

__all__ = [
    "chat",
    "completions",
    "detokenize",
    "health",
    "metrics",
    "model",
    "models",
    "reset_prefix_cache",
    "tokenize",
]


def _heading(service: Service, exchange: Exchange, generation: Generation) -> Heading:
    return Heading(
        id=exchange.request_id,
        created=int(service.wall()),
        model=service.settings.model_name,
        system_fingerprint=service.fingerprint,
        logprobs=generation.logprobs is not None,
        usage_in_stream=generation.include_usage,
    )


async def chat(service: Service, exchange: Exchange) -> None:
    """`POST /v1/chat/completions`."""
    body = await service.body_of(exchange)
    asked = await service.aside(len(body), lambda: decode_chat(body))
    generation = asked.generation
    service.check_model(generation.model)
    service.client.check_count(generation.n)
    text = await service.render(
        asked.messages,
        tools=asked.tools,
        add_generation_prompt=True,
        values=asked.template_values,
        body_bytes=len(body),
    )
    # The template has written the special tokens that the model expects.
    prompts = await service.tokenize_prompts([text], add_special_tokens=False, param="messages")
    await _answer(service, exchange, generation, prompts, ChatFormat)


async def completions(service: Service, exchange: Exchange) -> None:
    """`POST /v1/completions`."""
    body = await service.body_of(exchange)
    asked = await service.aside(len(body), lambda: decode_completion(body))
    generation = asked.generation
    service.check_model(generation.model)
    service.client.check_count(len(asked.prompts) * generation.n)
    prompts = await service.tokenize_prompts(asked.prompts, add_special_tokens=True, param="prompt")
    await _answer(service, exchange, generation, prompts, CompletionFormat)


async def _answer(
    service: Service,
    exchange: Exchange,
    generation: Generation,
    prompts: Sequence[Sequence[int]],
    form: type[ChatFormat] | type[CompletionFormat],
) -> None:
    requests = await service.aside(
        sum(map(len, prompts)),
        lambda: plan(
            generation,
            prompts,
            request_id=exchange.request_id,
            capacity_tokens=service.client.capacity_tokens,
            vocabulary=service.client.info.vocabulary,
            chat=form is ChatFormat,
        ),
    )
    await generate(
        service,
        exchange,
        requests,
        stops=generation.stop,
        choices_per_prompt=generation.n,
        form=form(_heading(service, exchange, generation)),
        stream=generation.stream,
        include_usage=generation.include_usage,
    )


async def tokenize(service: Service, exchange: Exchange) -> None:
    """`POST /tokenize`."""
    body = await service.body_of(exchange)
    asked = await service.aside(len(body), lambda: decode_tokenize(body))
    service.check_model(asked.model)
    text = asked.prompt
    if text is None:
        text = await service.render(
            asked.messages,
            tools=asked.tools,
            add_generation_prompt=asked.add_generation_prompt,
            values=asked.template_values,
            body_bytes=len(body),
        )
    tokens = await service.tokenize(text, add_special_tokens=asked.add_special_tokens)
    spelled: list[str] | None = None
    if asked.return_token_strs:
        decode = service.text.tokenizer.decode
        spelled = await service.aside(len(text), lambda: [decode([token]) for token in tokens])
    answer = Tokenized(
        tokens=tokens,
        count=len(tokens),
        max_model_len=service.client.capacity_tokens,
        token_strs=spelled,
    )
    await exchange.send_bytes(
        HTTPStatus.OK, await service.aside(len(text), lambda: msgspec.json.encode(answer))
    )


async def detokenize(service: Service, exchange: Exchange) -> None:
    """`POST /detokenize`."""
    body = await service.body_of(exchange)
    asked = await service.aside(len(body), lambda: decode_detokenize(body))
    service.check_model(asked.model)
    vocabulary = service.client.info.vocabulary

    def answer() -> bytes:
        if asked.tokens:
            check_tokens(asked.tokens, vocabulary, "tokens")
        return msgspec.json.encode(Detokenized(service.text.tokenizer.decode(asked.tokens)))

    await exchange.send_bytes(HTTPStatus.OK, await service.aside(len(body), answer))


def _card(service: Service) -> ModelCard:
    return ModelCard(
        id=service.settings.model_name,
        created=service.started_at,
        max_model_len=service.client.capacity_tokens,
    )


async def models(service: Service, exchange: Exchange) -> None:
    """`GET /v1/models`."""
    await exchange.send_json(HTTPStatus.OK, ModelList([_card(service)]))


async def model(service: Service, exchange: Exchange) -> None:
    """`GET /v1/models/{id}`; an id may hold slashes."""
    service.check_model(exchange.path.removeprefix("/v1/models/"))
    await exchange.send_json(HTTPStatus.OK, _card(service))


async def health(service: Service, exchange: Exchange) -> None:
    """`GET /health`: 200 while requests are taken, else 503."""
    if not service.client.alive:
        await exchange.send_json(HTTPStatus.SERVICE_UNAVAILABLE, Health("failed"))
    elif service.draining:
        await exchange.send_json(HTTPStatus.SERVICE_UNAVAILABLE, Health("draining"))
    else:
        await exchange.send_json(HTTPStatus.OK, Health("ok"))


async def metrics(service: Service, exchange: Exchange) -> None:
    """`GET /metrics`."""
    await exchange.send_bytes(HTTPStatus.OK, service.metrics.page(), content_type=CONTENT_TYPE)


async def reset_prefix_cache(service: Service, exchange: Exchange) -> None:
    """`POST /reset_prefix_cache`: true once nothing cached before can be found any more."""
    dropped = await service.client.reset()
    exchange.log["dropped_blocks"] = dropped
    await exchange.send_json(HTTPStatus.OK, ResetAnswer(success=True, dropped_blocks=dropped))
