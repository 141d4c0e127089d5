// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

interface IToken {
    function transfer(address to, uint256 value) external returns (bool);
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

interface IWrapped is IToken {
    function deposit() external payable;
    function withdraw(uint256 wad) external;
}

/// Swaps with the function signatures of Uniswap's V2 router, at a price that the simulator sets: it is router and pool
/// in one, so a swap writes the transfers that a wallet sees and no pool's own events.
contract Router {
    address public WETH;
    /// Units of a token for 10^18 wei.
    mapping(address => uint256) public price;

    receive() external payable {}

    function initialize(address weth) external {
        require(WETH == address(0), "initialized");
        WETH = weth;
        price[weth] = 1 ether;
    }

    function setPrice(address token, uint256 units) external {
        price[token] = units;
    }

    function swapExactETHForTokens(uint256 amountOutMin, address[] calldata path, address to, uint256 deadline)
        external
        payable
        returns (uint256[] memory amounts)
    {
        amounts = quote(msg.value, path, amountOutMin, deadline);
        IWrapped(WETH).deposit{value: msg.value}();
        IToken(path[path.length - 1]).transfer(to, amounts[1]);
    }

    function swapExactTokensForETH(
        uint256 amountIn,
        uint256 amountOutMin,
        address[] calldata path,
        address to,
        uint256 deadline
    ) external returns (uint256[] memory amounts) {
        amounts = quote(amountIn, path, amountOutMin, deadline);
        IToken(path[0]).transferFrom(msg.sender, address(this), amountIn);
        IWrapped(WETH).withdraw(amounts[1]);
        (bool sent, ) = to.call{value: amounts[1]}("");
        require(sent, "UniswapV2Router: ETH_TRANSFER_FAILED");
    }

    function swapExactTokensForTokens(
        uint256 amountIn,
        uint256 amountOutMin,
        address[] calldata path,
        address to,
        uint256 deadline
    ) external returns (uint256[] memory amounts) {
        amounts = quote(amountIn, path, amountOutMin, deadline);
        IToken(path[0]).transferFrom(msg.sender, address(this), amountIn);
        IToken(path[path.length - 1]).transfer(to, amounts[1]);
    }

    function quote(uint256 amountIn, address[] calldata path, uint256 amountOutMin, uint256 deadline)
        private
        view
        returns (uint256[] memory amounts)
    {
        require(deadline >= block.timestamp, "UniswapV2Router: EXPIRED");
        amounts = new uint256[](2);
        amounts[0] = amountIn;
        amounts[1] = (amountIn * price[path[path.length - 1]] * 997) / (price[path[0]] * 1000);
        require(amounts[1] >= amountOutMin, "UniswapV2Router: INSUFFICIENT_OUTPUT_AMOUNT");
    }
}
