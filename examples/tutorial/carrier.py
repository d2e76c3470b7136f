import windlass

books: dict[str, str] = {}


def ship(item: str, shelf: str) -> str:
    step = windlass.current_step()
    if step.attempt < 3:
        raise ConnectionError("the carrier does not answer")
    books[step.idempotency_key] = item  # "run_01M7…/ship": told twice, it is one parcel
    print("shipped", item, "from", shelf)
    return f"parcel with {item}"
